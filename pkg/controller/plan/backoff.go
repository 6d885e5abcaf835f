package plan

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

const (
	// failureDelay is how long the first finished pod of a slot is kept, for a
	// person to look at, before it is replaced; it doubles with every failure.
	failureDelay = time.Second
	// maxFailureDelay is as long as the kubelet waits between restarts of a
	// container at the most.
	maxFailureDelay = 5 * time.Minute
	// steadyAfter is how long a pod must have been ready for its slot's
	// failures to be forgotten.
	steadyAfter = time.Minute
	// refusalDelay and maxRefusalDelay bound how long a refused create waits.
	refusalDelay    = time.Second
	maxRefusalDelay = 30 * time.Second
)

// Failure is the back-off of one slot.
type Failure struct {
	// UID is the finished pod that was counted last, At when it was first seen.
	UID types.UID
	At  time.Time
	// Count is how many pods of the slot finished in a row, all made from the
	// template with this hash.
	Count    int
	Template string
	// ReadyAt is when this loop first saw that the slot's running pod is ready; zero: it is
	// not. ReadySince is since when by the clock of its node, which only tells one time of
	// being ready from another.
	ReadyAt, ReadySince time.Time
}

// seen is the back-off after a look at the slot's pod: a finished pod counts
// once, and a pod that was ready for long enough ends the row.
func (f Failure) seen(pod Pod, now time.Time) Failure {
	if !f.ReadyAt.IsZero() && now.Sub(f.ReadyAt) >= steadyAfter {
		f = Failure{}
	}
	readyAt, readySince := f.ReadyAt, f.ReadySince
	f.ReadyAt, f.ReadySince = time.Time{}, time.Time{}
	switch {
	case pod.Finished && f.UID != pod.UID:
		if f.Template != pod.Template {
			f.Count = 0
		}
		return Failure{UID: pod.UID, At: now, Count: f.Count + 1, Template: pod.Template}
	case pod.Ready && !pod.Finished: // a pod that finished may keep the condition
		f.ReadyAt, f.ReadySince = readyAt, pod.ReadySince
		if readyAt.IsZero() || readyAt.After(now) || !readySince.Equal(pod.ReadySince) {
			f.ReadyAt = now
		}
	}
	return f
}

// left is how long the finished pod is still kept.
func (f Failure) left(now time.Time) time.Duration {
	return left(f.At, double(failureDelay, maxFailureDelay, f.Count), now)
}

// left is how long the refused create still waits.
func (r Refusal) left(now time.Time) time.Duration {
	return left(r.At, double(refusalDelay, maxRefusalDelay, r.Count), now)
}

// left is how much is left of a delay, zero for nothing. A delay that begins in the future is over: somebody set
// the clock back.
func left(begins time.Time, delay time.Duration, now time.Time) time.Duration {
	if now.Before(begins) {
		return 0
	}
	return max(0, delay-now.Sub(begins))
}

// Refused remembers the refusal of a slot's create, or with slots.None of all.
func (m Memory) Refused(slot slots.Slot, r Refusal) Memory {
	r.Count = 1
	if old := m.Refusals[slot]; old.Generation == r.Generation {
		r.Count = old.Count + 1
	}
	m.Refusals = maps.Clone(m.Refusals)
	if m.Refusals == nil {
		m.Refusals = map[slots.Slot]Refusal{}
	}
	m.Refusals[slot] = r
	return m
}

// Lifted remembers that what refused the creates of all slots may have given way: they
// are tried at once. Until one goes through, they count as refused.
func (m Memory) Lifted() Memory {
	r, refused := m.Refusals[slots.None]
	if !refused {
		return m
	}
	m.Refusals = maps.Clone(m.Refusals)
	r.At = time.Time{}
	m.Refusals[slots.None] = r
	return m
}

// Accepted remembers that creates go through again.
func (m Memory) Accepted() Memory {
	m.Refusals = maps.Clone(m.Refusals)
	delete(m.Refusals, slots.None)
	return m
}

// double is first, doubled count-1 times, and never more than limit.
func double(first, limit time.Duration, count int) time.Duration {
	d := first
	for i := 1; i < count && d < limit; i++ {
		d *= 2
	}
	return min(d, limit)
}
