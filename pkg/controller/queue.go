package controller

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

const (
	// firstRetry is the delay after an object's first error. It doubles with each consecutive error, up to lastRetry.
	firstRetry = 100 * time.Millisecond
	lastRetry  = 30 * time.Second
	// maxDelay limits the delay of a reconcile that no event triggers. Plans use the wall clock, but
	// timers stop while the machine is suspended, so a longer timer could fire too late.
	maxDelay = time.Minute
)

// newQueue returns the queue of the objects to reconcile. later reports whether an object joins the backlog
// (see order). The queue's name, which is a label value of its metrics, includes the namespace, if any.
func newQueue(
	namespace string, metrics workqueue.MetricsProvider, later func(memory.Key) bool,
) workqueue.TypedRateLimitingInterface[memory.Key] {
	name := kinds.FieldManager
	if namespace != metav1.NamespaceAll {
		name += "/" + namespace
	}
	order := &order{later: later, queued: map[memory.Key]bool{}}
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[memory.Key](firstRetry, lastRetry),
		workqueue.TypedRateLimitingQueueConfig[memory.Key]{DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[memory.Key]{
			Name: name, MetricsProvider: metrics,
			Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[memory.Key]{Name: name, MetricsProvider: metrics, Queue: order}),
		})})
}

// wake adds an object to the queue, and records the reason for the log. later means that the object might not have
// changed (see order). If its last reconcile was recent and read many pods or nodes, wake delays the object.
func (c *Controller) wake(k memory.Key, later bool, why string) {
	c.memory.Because(k, later, why)
	c.queue.AddAfter(k, c.memory.Rest(k, time.Now()))
}

// wakeAfter adds an object to the queue after a delay of at most maxDelay. If the delay is zero, it does nothing.
func (c *Controller) wakeAfter(k memory.Key, delay time.Duration) {
	if delay > 0 {
		c.queue.AddAfter(k, min(delay, maxDelay))
	}
}

// order determines which object the queue returns next. Changed objects come before the backlog of objects that might
// not have changed, so that a change does not wait for thousands of unchanged objects after a start. Since version
// 0.23, controller-runtime uses a similar queue by default. The queue never calls two methods at the same time.
type order struct {
	// later reports whether an object belongs to the backlog.
	later func(memory.Key) bool
	// queued maps each queued object to whether it is in the backlog. An object that has moved to the
	// slice changed leaves a stale entry in the slice backlog.
	queued           map[memory.Key]bool
	changed, backlog []memory.Key
}

// Push adds an object that is not queued.
func (o *order) Push(k memory.Key) {
	o.queued[k] = o.later(k)
	if o.queued[k] {
		o.backlog = append(o.backlog, k)
	} else {
		o.changed = append(o.changed, k)
	}
}

// Touch is called when a queued object is added again. It moves a changed object out of the backlog, but never back.
func (o *order) Touch(k memory.Key) {
	if o.queued[k] && !o.later(k) {
		o.queued[k] = false
		o.changed = append(o.changed, k)
	}
}

// Len returns how many objects are queued.
func (o *order) Len() int { return len(o.queued) }

// Pop removes and returns the next object. The queue calls Pop only if Len is not zero.
func (o *order) Pop() (k memory.Key) {
	if len(o.changed) > 0 {
		k, o.changed = o.changed[0], o.changed[1:]
		delete(o.queued, k)
		return k
	}
	for !o.queued[k] { // skip stale entries of the backlog
		k, o.backlog = o.backlog[0], o.backlog[1:]
	}
	delete(o.queued, k)
	return k
}
