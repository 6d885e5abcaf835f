package controller

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

const (
	// firstRetry is the delay after the first error of an object. The delay doubles with each error
	// in a row, up to lastRetry.
	firstRetry = 100 * time.Millisecond
	lastRetry  = 30 * time.Second
	// maxDelay is the maximum delay of a reconcile without an event. Plans use the wall clock, but
	// timers stop while the machine is suspended, so a longer delay could end too late.
	maxDelay = time.Minute
)

// newQueue returns the queue of the objects to reconcile. order determines the next object. The
// name of the queue, which includes the namespace, is a label of its metrics.
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

// wake adds a changed object to the queue, and records the reason for the log. If a recent
// reconcile of the object read many items, the object is delayed.
func (c *Controller) wake(k memory.Key, why ...string) { c.add(k, false, why) }

// wakeLater adds an object to the queue behind the changed objects.
func (c *Controller) wakeLater(k memory.Key, why ...string) { c.add(k, true, why) }

func (c *Controller) add(k memory.Key, later bool, why []string) {
	c.memory.Because(k, why...)
	c.order.set(k, later)
	c.queue.AddAfter(k, c.memory.Rest(k, time.Now()))
}

// wakeAfter adds an object to the queue after a delay of at most maxDelay. If the delay is zero,
// wakeAfter does nothing.
func (c *Controller) wakeAfter(k memory.Key, delay time.Duration) {
	if delay > 0 {
		c.queue.AddAfter(k, min(delay, maxDelay))
	}
}

// order determines which object the queue returns next. Changed objects come before the backlog,
// which holds the objects that exist when the loop starts. So a change does not wait for thousands
// of unchanged objects. controller-runtime has a similar queue by default since 0.23.
type order struct {
	mu sync.Mutex
	// later holds the objects that join the backlog when they are next added.
	later map[memory.Key]bool
	// queued maps each queued object to whether it is in the backlog. An object that has moved to
	// changed can still be in the slice backlog.
	queued           map[memory.Key]bool
	changed, backlog []memory.Key
}

func newOrder() *order {
	return &order{later: map[memory.Key]bool{}, queued: map[memory.Key]bool{}}
}

// set records whether an object joins the backlog when it is next added.
func (o *order) set(k memory.Key, later bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if later {
		o.later[k] = true
	} else {
		delete(o.later, k)
	}
}

// takeLater returns and deletes the value from set for an object. The caller holds the lock.
func (o *order) takeLater(k memory.Key) bool {
	later := o.later[k]
	delete(o.later, k)
	return later
}

// Push adds an object that is not queued.
func (o *order) Push(k memory.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	later := o.takeLater(k)
	o.queued[k] = later
	if later {
		o.backlog = append(o.backlog, k)
	} else {
		o.changed = append(o.changed, k)
	}
}

// Touch handles a queued object that was added again. A change moves the object out of the backlog,
// and nothing moves it back.
func (o *order) Touch(k memory.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if later := o.takeLater(k); !later && o.queued[k] {
		o.queued[k] = false
		o.changed = append(o.changed, k)
	}
}

// Len returns how many objects are queued.
func (o *order) Len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.queued)
}

// Pop removes and returns the next object. The queue calls Pop only if it is not empty.
func (o *order) Pop() (k memory.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
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
