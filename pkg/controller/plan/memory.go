package plan

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// Memory is the controller's memory of one owner between plans. Losing it only restarts delays and repeats some writes.
type Memory struct {
	// Failures holds the back-offs after failures, by slot. A failure is a pod that finished.
	Failures map[slots.Slot]Failure
	Ending   map[types.UID]Termination
	// Refusals holds the refused creates and applies, by slot. A refusal under slots.None blocks all slots.
	Refusals   map[slots.Slot]Refusal
	Written    Written
	Applied    *Applied
	Unrecorded Unrecorded
	// LabelRefused is the time of the last refused attempt to restore the labels of a pod.
	LabelRefused time.Time
}

// Termination records when this controller first saw a pod terminating with the grace period Grace. If a
// second delete shortens the grace period, Since is reset.
type Termination struct {
	Since time.Time
	Grace time.Duration
}

// Refusal is a rejected create or apply for which an immediate retry is useless. Typical causes are a
// quota, an admission webhook, a missing permission, or a name that is taken.
type Refusal struct {
	// Reason and Message appear in the condition ReplicaFailure. A reason is a single word, such as QuotaExceeded.
	Reason, Message string
	// Generation is the owner's generation at the refusal. If the owner changes, the write is retried immediately.
	Generation int64
	// At is the time of the last refusal. Count is the number of refusals in a row while Generation stays the same.
	At    time.Time
	Count int
}

// Unrecorded holds the owner's template hash and generation at the last refused write of a revision.
type Unrecorded struct {
	Template   string
	Generation int64
}

// Refused returns the memory with a refusal added for one slot, or for all slots if slot is slots.None.
func (m Memory) Refused(slot slots.Slot, r Refusal) Memory {
	r.Count = 1
	if old := m.Refusals[slot]; old.Generation == r.Generation {
		r.Count = old.Count + 1
	}
	refusals := map[slots.Slot]Refusal{}
	maps.Copy(refusals, m.Refusals)
	refusals[slot] = r
	m.Refusals = refusals
	return m
}

// Accepted returns the memory after a successful write, without the refusal that blocks all slots.
func (m Memory) Accepted() Memory {
	m.Refusals = maps.Clone(m.Refusals)
	delete(m.Refusals, slots.None)
	return m
}

func (m Memory) wait(slot slots.Slot, v View) time.Duration {
	var wait time.Duration
	for _, r := range m.refusals(slot, v) {
		wait = max(wait, left(r.At, doubled(refusalDelay, maxRefusalDelay, r.Count), v.Now))
	}
	return wait
}

// refusals returns the refusals that apply to a slot. Refusals from before the last change of the owner do not count.
func (m Memory) refusals(slot slots.Slot, v View) (all []Refusal) {
	for _, s := range []slots.Slot{slot, slots.None} {
		if r, refused := m.Refusals[s]; refused && r.Generation == v.Owner.Generation {
			all = append(all, r)
		}
	}
	return all
}

// LowestRefusal returns the refusal for all slots, or else for the lowest slot. It returns false if refusals is empty.
func LowestRefusal(refusals map[slots.Slot]Refusal) (Refusal, bool) {
	if len(refusals) == 0 {
		return Refusal{}, false
	}
	lowest := slices.Min(slices.Collect(maps.Keys(refusals))) // slots.None is the lowest
	return refusals[lowest], true
}

const (
	// failureDelay is how long a slot's first finished pod is kept for inspection. It doubles with every failure.
	failureDelay = time.Second
	// maxFailureDelay is the maximum of this delay. It is equal to the maximum back-off of the kubelet.
	maxFailureDelay = 5 * time.Minute
	// steadyAfter is how long a pod must be ready to reset the failures of its slot.
	steadyAfter = time.Minute
	// Refused writes are retried after a delay that doubles from refusalDelay up to maxRefusalDelay.
	refusalDelay    = time.Second
	maxRefusalDelay = 10 * time.Second
)

// Failure is the back-off of one slot.
type Failure struct {
	// UID identifies the last counted pod. At is when this controller first saw that pod finished.
	UID types.UID
	At  time.Time
	// Count is how many pods of the slot finished in a row. Template is the template hash of these pods.
	Count    int
	Template string
	// ReadyAt is when this controller first saw the slot's running pod ready, or zero if it is not ready. ReadySince
	// is when the pod became ready by the node's clock. If ReadySince changes, the pod was not ready in between.
	ReadyAt, ReadySince time.Time
}

// seen returns the back-off, updated with the state of the slot's pod. Each finished pod counts once. A pod that was
// ready for steadyAfter resets the count, and so does a finished pod with another template.
func (f Failure) seen(pod Pod, now time.Time) Failure {
	if !f.ReadyAt.IsZero() && now.Sub(f.ReadyAt) >= steadyAfter {
		f = Failure{}
	}
	switch {
	case pod.Finished && f.UID != pod.UID:
		if f.Template != pod.Template {
			f.Count = 0
		}
		return Failure{UID: pod.UID, At: now, Count: f.Count + 1, Template: pod.Template}
	case !pod.Ready || pod.Finished: // a finished pod may still have the condition Ready
		f.ReadyAt, f.ReadySince = time.Time{}, time.Time{}
	case f.ReadyAt.IsZero() || f.ReadyAt.After(now) || !f.ReadySince.Equal(pod.ReadySince):
		f.ReadyAt, f.ReadySince = now, pod.ReadySince
	}
	return f
}

// left returns how much longer the finished pod is kept.
func (f Failure) left(now time.Time) time.Duration {
	return left(f.At, doubled(failureDelay, maxFailureDelay, f.Count), now)
}

// left returns the rest of a delay, or zero if the delay starts in the future, because then the clock was set back.
func left(begins time.Time, delay time.Duration, now time.Time) time.Duration {
	if now.Before(begins) {
		return 0
	}
	return max(0, delay-now.Sub(begins))
}

// doubled returns the first delay, doubled count-1 times, but at most limit.
func doubled(first, limit time.Duration, count int) time.Duration {
	d := first
	for i := 1; i < count && d < limit; i++ {
		d *= 2
	}
	return min(d, limit)
}
