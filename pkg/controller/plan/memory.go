package plan

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// Memory is what the loop remembers about one owner between plans. Losing it in a
// crash costs a shorter back-off and a status write, never a pod.
type Memory struct {
	// Failures has the back-off of the slots whose pods finished.
	Failures map[slots.Slot]Failure
	// Ending has the time when this loop first saw each terminating pod.
	Ending map[types.UID]time.Time
	// Refusals has the creates that the server refused, by slot. One under slots.None
	// blocks all slots of the owner.
	Refusals map[slots.Slot]Refusal
	// Written is the last status that this loop wrote, if any.
	Written *Written
	// Applied is the last Deployment that this loop wrote, if any.
	Applied *Applied
	// Unrecorded is the template whose revision the server refused last.
	Unrecorded Unrecorded
	// LabelRefused is when the server last refused to restore the labels of a pod.
	LabelRefused time.Time
}

// Refusal is the server's answer to a create that will not succeed if it is repeated
// at once: quota, admission, permissions, a name that is taken.
type Refusal struct {
	// Reason is a condition reason, such as QuotaExceeded. Message has the server's
	// own words.
	Reason, Message string
	// Generation is the generation of the owner. After a change of the owner, the create is
	// tried at once.
	Generation int64
	// At is the time of the refusal, and Count how many there were in a row.
	At    time.Time
	Count int
}

// Unrecorded is a template whose revision the server refused, and the generation of
// the owner that had it.
type Unrecorded struct {
	Template   string
	Generation int64
}

// Refused remembers that the create of a slot was refused; slots.None stands for all.
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

// Accepted remembers that creates succeed again.
func (m Memory) Accepted() Memory {
	m.Refusals = maps.Clone(m.Refusals)
	delete(m.Refusals, slots.None)
	return m
}

// wait returns how long the create of a slot has to wait after a refusal. A change
// of the owner is worth an attempt at once.
func (m Memory) wait(slot slots.Slot, v View) time.Duration {
	var wait time.Duration
	for _, s := range []slots.Slot{slot, slots.None} {
		if r := m.Refusals[s]; r.Generation == v.Owner.Generation {
			wait = max(wait, r.left(v.Now))
		}
	}
	return wait
}

// refusal returns the refusal to report: the refusal of all slots, or of the lowest slot.
func (m Memory) refusal() (Refusal, bool) {
	if len(m.Refusals) == 0 {
		return Refusal{}, false
	}
	lowest := slices.Min(slices.Collect(maps.Keys(m.Refusals))) // slots.None is the lowest
	return m.Refusals[lowest], true
}
