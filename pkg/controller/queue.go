package controller

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

const (
	// firstRetry is the delay after the first error of an object. It doubles with each error in a
	// row, up to lastRetry.
	firstRetry = 100 * time.Millisecond
	lastRetry  = 30 * time.Second
	// maxDelay is the maximum delay of a reconcile without an event. Plans use the wall clock, but
	// timers stop while the machine sleeps, so a longer delay could end too late.
	maxDelay = time.Minute
)

// newQueue returns the queue of the objects to reconcile. order decides which one is next. The name
// of the queue, which includes the namespace, is a label of its metrics.
func newQueue(namespace string, metrics workqueue.MetricsProvider, order *order) workqueue.TypedRateLimitingInterface[memory.Key] {
	name := kinds.FieldManager
	if namespace != metav1.NamespaceAll {
		name += "/" + namespace
	}
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[memory.Key](firstRetry, lastRetry),
		workqueue.TypedRateLimitingQueueConfig[memory.Key]{DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[memory.Key]{
			Name: name, MetricsProvider: metrics,
			Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[memory.Key]{Name: name, MetricsProvider: metrics, Queue: order}),
		})})
}

// wake puts an object that changed into the queue, and records the reason for the log. After a
// recent reconcile that read many items, the object is delayed.
func (c *Controller) wake(k memory.Key, why ...string) { c.add(k, false, why) }

// wakeLater puts an object into the queue behind those that changed.
func (c *Controller) wakeLater(k memory.Key, why ...string) { c.add(k, true, why) }

func (c *Controller) add(k memory.Key, later bool, why []string) {
	c.memory.Because(k, why...)
	c.order.set(k, later)
	c.queue.AddAfter(k, c.memory.Rest(k, time.Now()))
}

// wakeAfter puts an object into the queue after a delay, but no later than after maxDelay. A delay
// of zero does nothing.
func (c *Controller) wakeAfter(k memory.Key, delay time.Duration) {
	if delay > 0 {
		c.queue.AddAfter(k, min(delay, maxDelay))
	}
}
