// Package queue holds the objects that are to be reconciled: those that changed before
// those that a start or a resync looks at.
package queue

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
)

const (
	// firstRetry and lastRetry are the waits after the first error of an object, and after
	// many of them.
	firstRetry = 100 * time.Millisecond
	lastRetry  = 30 * time.Second
	// requeueIntervalPerItem is how long an object is left alone after a reconcile, for each
	// of its pods and of the nodes that may run them. If thousands become ready one by one,
	// not each is worth a plan for all of them. To read one takes a microsecond or two.
	requeueIntervalPerItem = 25 * time.Microsecond
	// maxDelay is the longest wait for a reconcile without an event. A plan compares the
	// time of the wall clock, while timers stop when the machine sleeps.
	maxDelay = time.Minute
	// maxReasons is how many reasons for a reconcile are noted.
	maxReasons = 5
)

// Queue holds the keys of the objects that are to be reconciled, and why they are.
type Queue struct {
	workqueue.TypedRateLimitingInterface[memory.Key]
	order      *order
	reconciles atomic.Int64

	mu      sync.Mutex
	objects map[memory.Key]object
}

// object is what is known of the reconciles of an object.
type object struct {
	number  int64    // of the last reconcile
	reasons []string // for the next one
	// running says that the last reconcile, which began then, has not ended. It read so
	// many items: pods and nodes.
	running bool
	began   time.Time
	items   int
}

// New makes an empty queue. The name is that in the metrics.
func New(name string, metrics workqueue.MetricsProvider) *Queue {
	o := newOrder()
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[memory.Key]{
		Name: name, MetricsProvider: metrics,
		Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[memory.Key]{Name: name, MetricsProvider: metrics, Queue: o}),
	})
	return &Queue{
		TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[memory.Key](firstRetry, lastRetry),
			workqueue.TypedRateLimitingQueueConfig[memory.Key]{Name: name, MetricsProvider: metrics, DelayingQueue: delaying}),
		order:   o,
		objects: map[memory.Key]object{},
	}
}

// Wake puts an object that changed into the queue, with the reason in words. It becomes
// due when its last reconcile was long enough ago for the number of its items.
func (q *Queue) Wake(k memory.Key, why ...string) { q.add(k, false, why) }

// WakeLater puts an object into the queue behind those that changed.
func (q *Queue) WakeLater(k memory.Key, why ...string) { q.add(k, true, why) }

func (q *Queue) add(k memory.Key, later bool, why []string) {
	q.Because(k, why...)
	q.order.set(k, later)
	q.AddAfter(k, q.requeueAfter(k, time.Now()))
}

// WakeAfter puts an object into the queue after a delay, and after maxDelay at the latest.
// Zero does nothing.
func (q *Queue) WakeAfter(k memory.Key, delay time.Duration) {
	if delay > 0 {
		q.AddAfter(k, min(delay, maxDelay))
	}
}

// update changes what is known of the reconciles of an object.
func (q *Queue) update(k memory.Key, change func(*object)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	o := q.objects[k]
	change(&o)
	q.objects[k] = o
}

// Because notes a reason for the next reconcile, if reasons are logged.
func (q *Queue) Because(k memory.Key, why ...string) {
	if !klog.V(2).Enabled() {
		return
	}
	q.update(k, func(o *object) {
		if len(o.reasons) < maxReasons {
			o.reasons = append(o.reasons, strings.Join(why, " "))
		}
	})
}

// Begin notes the begin of a reconcile, and returns its number and the reasons for it.
func (q *Queue) Begin(k memory.Key, now time.Time) (number int64, reasons []string) {
	number = q.reconciles.Add(1)
	q.update(k, func(o *object) {
		reasons = o.reasons
		o.number, o.reasons, o.running, o.began = number, nil, true, now
	})
	if len(reasons) == 0 {
		reasons = []string{"timer"}
	}
	return number, reasons
}

// Saw notes how many items the reconcile of an object read.
func (q *Queue) Saw(k memory.Key, items int) {
	q.update(k, func(o *object) { o.items = items })
}

// Done notes the end of a reconcile.
func (q *Queue) Done(k memory.Key) {
	q.mu.Lock()
	if o, known := q.objects[k]; known {
		o.running = false
		q.objects[k] = o
	}
	q.mu.Unlock()
	q.TypedRateLimitingInterface.Done(k)
}

// requeueAfter returns how long an object is still left alone.
func (q *Queue) requeueAfter(k memory.Key, now time.Time) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	o := q.objects[k]
	return o.began.Add(requeueIntervalPerItem * time.Duration(o.items)).Sub(now)
}

// Number returns the number of the last reconcile of an object, zero for none.
func (q *Queue) Number(k memory.Key) int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.objects[k].number
}

// Oldest returns the object whose reconcile has been running for the longest, and since
// when; ok is false if none is running.
func (q *Queue) Oldest() (oldest memory.Key, since time.Time, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for k, o := range q.objects {
		if o.running && (!ok || o.began.Before(since)) {
			oldest, since, ok = k, o.began, true
		}
	}
	return oldest, since, ok
}

// Drop forgets the reconciles of an object.
func (q *Queue) Drop(k memory.Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.objects, k)
}

// Reconciles returns how many reconciles have begun.
func (q *Queue) Reconciles() int64 { return q.reconciles.Load() }
