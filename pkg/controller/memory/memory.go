// Package memory holds what the loop remembers about objects between reconciles. The loop can lose this memory safely.
package memory

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/metrics"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// Key identifies a reconciled object.
type Key struct {
	Kind            string // plural.group
	Namespace, Name string
}

// Object is the loop's memory of one object. It needs no lock, because only the object's reconcile uses it.
type Object struct {
	UID  types.UID
	Plan plan.Memory
	// Written maps each resource to the highest resourceVersion in the responses to this loop's writes.
	Written map[string]string
	// Unanswered lists the pods that might exist (see strategy.Outcome).
	Unanswered []string
	// Created and Deleted count the created and deleted pods that no event has reported yet.
	Created, Deleted int
	// Failing counts the plans with strategy.Outcome.Failing since the last successful create, apply, or write of a
	// revision, or the last plan with neither operations nor refusals.
	Failing int
	// NameTaken is the last message about a foreign object that has the name of a wanted child.
	NameTaken string
	// Pause is the last message about a pause of the object, or nil before the first plan.
	Pause *string
	// Logged holds the codes of pod failures logged since the loop last acted, or the object last converged.
	Logged map[problem.Code]bool
}

// Wrote records the resourceVersion in the response to a write. It ignores an empty version.
func (o *Object) Wrote(resource, version string) {
	o.Written[resource] = informer.Later(version, o.Written[resource])
}

// Progress is the progress of the loop for an object.
type Progress struct {
	// Converged means that the object has its desired state and its status reports this.
	Converged bool
	// Failure is the error of the last reconcile, or "".
	Failure string
	// DryRun describes what the loop would do. It is set only in a dry run.
	DryRun *plan.DryRun
}

// entry adds fields to an Object. These fields need the lock, because event handlers use them, too.
type entry struct {
	Object
	reconciles
	lastLine string
	// progress is nil until the first plan or failure. convergingSince is zero while the object is ready.
	progress        *Progress
	convergingSince time.Time
}

// Memory is the loop's memory of all objects.
type Memory struct {
	mu      sync.Mutex
	objects map[Key]*entry
	begun   int64         // number of started reconciles
	changed chan struct{} // buffers one value
	metrics *metrics.Metrics
}

// New returns an empty memory. metrics records how long objects take to converge.
func New(metrics *metrics.Metrics) *Memory {
	return &Memory{objects: map[Key]*entry{}, changed: make(chan struct{}, 1), metrics: metrics}
}

// Get returns the memory of an object. If the memory is of an earlier object with the same name, Get resets it first.
func (m *Memory) Get(k Key, uid types.UID) *Object {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entry(k)
	if e.UID != uid {
		object := Object{UID: uid, Written: map[string]string{}, Logged: map[problem.Code]bool{}}
		*e = entry{Object: object, reconciles: e.reconciles}
	}
	return &e.Object
}

// entry returns the entry of an object, and creates it if necessary. The caller must hold the lock.
func (m *Memory) entry(k Key) *entry {
	if m.objects[k] == nil {
		m.objects[k] = &entry{}
	}
	return m.objects[k]
}

// Forget drops the memory of an object that is no longer reconciled.
func (m *Memory) Forget(k Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, k)
	m.Notify()
}

func (m *Memory) update(k Key, change func(*entry)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.objects[k]; e != nil {
		change(e)
	}
}

// Said records a log line about an object. It returns the sequence number of the object's last
// reconcile, or zero if there is none, and whether the previous line was the same.
func (m *Memory) Said(k Key, line string) (number int64, repeated bool) {
	m.update(k, func(e *entry) { number, repeated, e.lastLine = e.number, e.lastLine == line, line })
	return number, repeated
}

// Planned records the progress of the loop for an object after a plan.
func (m *Memory) Planned(k Key, now time.Time, v plan.View, a plan.Actions, dryRun *plan.DryRun) {
	ready := a.Ready(v)
	m.setProgress(k, now, ready, Progress{Converged: ready && !a.StatusLater, DryRun: dryRun})
}

// Failed records that a reconcile of an object failed.
func (m *Memory) Failed(k Key, now time.Time, err error) {
	m.setProgress(k, now, false, Progress{Failure: err.Error()})
}

// setProgress sets the progress of an object, and measures how long the object took to become ready.
func (m *Memory) setProgress(k Key, now time.Time, ready bool, progress Progress) {
	m.update(k, func(e *entry) {
		e.progress = &progress
		switch converging := !e.convergingSince.IsZero(); {
		case ready && converging:
			m.metrics.Convergence.WithLabelValues(k.Kind).Observe(now.Sub(e.convergingSince).Seconds())
			e.convergingSince = time.Time{}
		case !ready && !converging:
			e.convergingSince = now
		}
	})
	m.Notify()
}

// Progress returns the progress of the loop for an object, or nil before the first plan or failure.
func (m *Memory) Progress(k Key) (progress *Progress) {
	m.update(k, func(e *entry) { progress = e.progress })
	return progress
}

// Notify sends a value to the channel that Changed returns, unless the channel is full.
func (m *Memory) Notify() {
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// Changed returns a channel that receives a value after a call of Notify.
func (m *Memory) Changed() <-chan struct{} { return m.changed }

const (
	// restPerItem is the minimum time between the starts of two reconciles of an object, per pod and node that the
	// earlier reconcile read. Timers and retries ignore the minimum. If thousands of pods become ready one by one, it
	// avoids a plan for each change. Reading a pod or a node takes one or two microseconds.
	restPerItem = 40 * time.Microsecond
	maxReasons  = 5
)

// reconciles describes the last reconcile of an object and the next one.
type reconciles struct {
	number  int64    // the sequence number of the last reconcile
	reasons []string // for the next reconcile
	later   bool     // whether every call of Because for the next reconcile had later set
	// running means that the last reconcile has not ended. began is when the last reconcile started.
	// items is the number of pods and nodes that it read.
	running bool
	began   time.Time
	items   int
}

// Because records a reason for the next reconcile of an object. later means that the object might not have changed.
func (m *Memory) Because(k Key, later bool, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entry(k)
	e.later = later && (e.later || len(e.reasons) == 0)
	if len(e.reasons) < maxReasons {
		e.reasons = append(e.reasons, why)
	}
}

// Later reports whether the next reconcile of an object has reasons, all of them recorded with later set.
func (m *Memory) Later(k Key) (later bool) {
	m.update(k, func(e *entry) { later = e.later })
	return later
}

// Begin records the start of a reconcile, and returns its sequence number and its reasons.
func (m *Memory) Begin(k Key, now time.Time) (number int64, reasons []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begun++
	e := m.entry(k)
	reasons = e.reasons
	e.number, e.reasons, e.later, e.running, e.began = m.begun, nil, false, true, now
	return m.begun, reasons
}

// Saw records how many items the reconcile of an object read.
func (m *Memory) Saw(k Key, items int) { m.update(k, func(e *entry) { e.items = items }) }

// End records the end of a reconcile.
func (m *Memory) End(k Key) { m.update(k, func(e *entry) { e.running = false }) }

// Rest returns how long the next reconcile of an object must wait. Zero or less means that it is due.
func (m *Memory) Rest(k Key, now time.Time) (rest time.Duration) {
	m.update(k, func(e *entry) { rest = e.began.Add(restPerItem * time.Duration(e.items)).Sub(now) })
	return rest
}

// Oldest returns the object whose running reconcile started first, and when it started. ok is false if none is running.
func (m *Memory) Oldest() (oldest Key, since time.Time, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, e := range m.objects {
		if e.running && (!ok || e.began.Before(since)) {
			oldest, since, ok = k, e.began, true
		}
	}
	return oldest, since, ok
}
