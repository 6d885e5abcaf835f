package memory

import (
	"strings"
	"time"
)

const (
	// restPerItem is the minimum time between the starts of two reconciles of an object, for each
	// pod and node that the first one read. If thousands of pods become ready one by one, not every
	// change is worth a plan for all of them. Reading a pod or a node takes a microsecond or two.
	restPerItem = 40 * time.Microsecond
	// maxReasons is the maximum number of reasons that are noted for a reconcile.
	maxReasons = 5
)

// reconciles describes the last reconcile of an object and the next one.
type reconciles struct {
	number  int64    // of the last one
	reasons []string // for the next one
	// running means that the last reconcile has not ended. began is when it began. items counts the
	// pods and nodes that were last read.
	running bool
	began   time.Time
	items   int
}

// Because records a reason for the next reconcile of an object.
func (m *Memory) Because(k Key, why ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.entry(k); len(e.reasons) < maxReasons {
		e.reasons = append(e.reasons, strings.Join(why, " "))
	}
}

// Begin records that a reconcile has begun, and returns its sequence number and the reasons for it.
func (m *Memory) Begin(k Key, now time.Time) (number int64, reasons []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begun++
	e := m.entry(k)
	reasons = e.reasons
	e.number, e.reasons, e.running, e.began = m.begun, nil, true, now
	return m.begun, reasons
}

// Saw records how many items the reconcile of an object read.
func (m *Memory) Saw(k Key, items int) { m.update(k, func(e *entry) { e.items = items }) }

// End records the end of a reconcile.
func (m *Memory) End(k Key) { m.update(k, func(e *entry) { e.running = false }) }

// Rest returns how long the next reconcile of an object must wait; zero or less if it is due.
func (m *Memory) Rest(k Key, now time.Time) (rest time.Duration) {
	m.update(k, func(e *entry) { rest = e.began.Add(restPerItem * time.Duration(e.items)).Sub(now) })
	return rest
}

// Reconciles returns how many reconciles have begun.
func (m *Memory) Reconciles() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.begun
}

// Oldest returns the object whose reconcile has been running for the longest, and since
// when; ok is false if none is running.
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
