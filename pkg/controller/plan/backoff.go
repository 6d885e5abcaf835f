package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// failureDelay is how long the first finished pod of a slot is kept for inspection. The delay
	// doubles with every failure.
	failureDelay = time.Second
	// maxFailureDelay is the maximum of that delay, as for the kubelet's restarts of a container.
	maxFailureDelay = 5 * time.Minute
	// steadyAfter is how long a pod must have been ready to reset the failures of its slot.
	steadyAfter = time.Minute
	// refusalDelay and maxRefusalDelay bound how long a refused create waits.
	refusalDelay    = time.Second
	maxRefusalDelay = 10 * time.Second
)

// Failure is the back-off of one slot.
type Failure struct {
	// UID identifies the finished pod that was counted last. At is when it was first seen finished.
	UID types.UID
	At  time.Time
	// Count is the number of pods of the slot that finished in a row, all made from the template
	// with the hash Template.
	Count    int
	Template string
	// ReadyAt is the time at which this loop first saw the slot's running pod ready, or zero if the
	// pod is not ready. ReadySince is when the pod became ready by the node's clock. A different
	// ReadySince means a new period of readiness.
	ReadyAt, ReadySince time.Time
}

// seen returns the back-off, updated for the slot's pod. A finished pod counts once, and a pod that
// was ready for long enough resets the count.
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
	case pod.Ready && !pod.Finished: // a finished pod may keep the condition
		f.ReadyAt, f.ReadySince = readyAt, pod.ReadySince
		if readyAt.IsZero() || readyAt.After(now) || !readySince.Equal(pod.ReadySince) {
			f.ReadyAt = now
		}
	}
	return f
}

// left returns how much longer the finished pod is kept.
func (f Failure) left(now time.Time) time.Duration {
	return left(f.At, doubled(failureDelay, maxFailureDelay, f.Count), now)
}

// left returns how much longer the refused create waits.
func (r Refusal) left(now time.Time) time.Duration {
	return left(r.At, doubled(refusalDelay, maxRefusalDelay, r.Count), now)
}

// left returns the remaining part of a delay. It is zero if the delay begins in the future, which
// means that the clock was set back.
func left(begins time.Time, delay time.Duration, now time.Time) time.Duration {
	if now.Before(begins) {
		return 0
	}
	return max(0, delay-now.Sub(begins))
}

// doubled returns the first delay, doubled count-1 times, up to the limit.
func doubled(first, limit time.Duration, count int) time.Duration {
	d := first
	for i := 1; i < count && d < limit; i++ {
		d *= 2
	}
	return min(d, limit)
}
