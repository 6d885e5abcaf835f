// Package queue holds the objects that a loop is to look at, in the order in which it does:
// what has changed before what is only looked at again.
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

// LastRetry is the longest wait after an error that is worth an early retry.
const LastRetry = 30 * time.Second

const (
	// firstRetry is the wait after the first such error.
	firstRetry = 100 * time.Millisecond
	// requeueIntervalPerItem is how long after a look there is none, for each pod of the object and
	// each node that it may run on: of thousands that become ready one by one, not each is
	// worth a look at all of them. To look at one and to plan for it takes a microsecond or two.
	requeueIntervalPerItem = 25 * time.Microsecond
	// maxDelay is the longest wait for a look without an event. A plan compares the time of the
	// wall; a timer, which does not run while the machine sleeps, must not be what ends a long wait.
	maxDelay = time.Minute
	// mostReasons bounds what is noted: of a thousand pods of one object the first
	// few tell enough.
	mostReasons = 5
)

// Queue holds the objects that are to be looked at, and when and why that is.
type Queue struct {
	workqueue.TypedRateLimitingInterface[memory.Key]
	order *order
	// looked is how many times an object was looked at.
	looked atomic.Int64

	mu sync.Mutex
	// looks holds how objects came to be looked at.
	looks map[memory.Key]lookState
	// timers are the next looks without an event. They are not the queue's own,
	// which cannot be taken back: one that an event has overtaken would be a
	// reconcile for nothing.
	timers map[memory.Key]*time.Timer
}

// lookState is how an object came to be looked at.
type lookState struct {
	look    int64    // its number
	reasons []string // for the next look
	// began is when the last look did, items how many pods and nodes there were to look at.
	began time.Time
	items int
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
			workqueue.NewTypedItemExponentialFailureRateLimiter[memory.Key](firstRetry, LastRetry),
			workqueue.TypedRateLimitingQueueConfig[memory.Key]{Name: name, MetricsProvider: metrics, DelayingQueue: delaying}),
		order:  o,
		looks:  map[memory.Key]lookState{},
		timers: map[memory.Key]*time.Timer{},
	}
}

// Wake puts an object into the queue, with the reason in words: at once, if the
// last look was long enough ago for the number of its pods and nodes.
func (q *Queue) Wake(k memory.Key, why ...string) {
	q.add(k, false, why)
}

// WakeLater is Wake for an object that is not known to have changed: those that have
// go first.
func (q *Queue) WakeLater(k memory.Key, why ...string) {
	q.add(k, true, why)
}

func (q *Queue) add(k memory.Key, later bool, why []string) {
	q.Because(k, why...)
	q.order.set(k, later)
	q.AddAfter(k, q.requeueAfter(k, time.Now()))
}

// Because notes why an object will be looked at, if somebody wants to know.
func (q *Queue) Because(k memory.Key, why ...string) {
	if !klog.V(2).Enabled() {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.looks[k]
	if len(t.reasons) < mostReasons {
		t.reasons = append(t.reasons, strings.Join(why, " "))
	}
	q.looks[k] = t
}

// Begin notes a look, and returns its number and the reasons for it.
func (q *Queue) Begin(k memory.Key, now time.Time) (look int64, reasons []string) {
	look = q.looked.Add(1)
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.looks[k]
	q.looks[k] = lookState{look: look, began: now, items: t.items}
	return look, t.reasons
}

// Saw notes how many pods and nodes were looked at for an object.
func (q *Queue) Saw(k memory.Key, items int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.looks[k]
	t.items = items
	q.looks[k] = t
}

// requeueAfter is how long an object is not to be looked at again; less than nothing: it may be.
func (q *Queue) requeueAfter(k memory.Key, now time.Time) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.looks[k]
	return t.began.Add(requeueIntervalPerItem * time.Duration(t.items)).Sub(now)
}

// Look is the number of the last look at an object, zero for none.
func (q *Queue) Look(k memory.Key) int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.looks[k].look
}

// LookAgain puts an object into the queue after a delay, but after maxDelay at the latest,
// in place of an earlier call that is not yet due. No delay: only that.
func (q *Queue) LookAgain(k memory.Key, delay time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t := q.timers[k]; t != nil {
		t.Stop()
		delete(q.timers, k)
	}
	if delay > 0 {
		q.timers[k] = time.AfterFunc(min(delay, maxDelay), func() { q.Wake(k, "timer") })
	}
}

// Drop forgets how an object came to be looked at.
func (q *Queue) Drop(k memory.Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.looks, k)
}

// Looked is how many times an object was looked at.
func (q *Queue) Looked() int64 { return q.looked.Load() }

// Stop ends all timers.
func (q *Queue) Stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, t := range q.timers {
		t.Stop()
	}
}
