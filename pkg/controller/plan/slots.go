package plan

import (
	"iter"

	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// slotSet is the set of slots in which an owner wants pods.
type slotSet struct {
	// count is the number of slots.
	count int32
	// wants reports whether a slot is in the set. kept has the slots outside the set in which an
	// existing pod may stay.
	wants func(slots.Slot) bool
	kept  map[slots.Slot]bool
	// removed lists the slots that the owner has removed. Their pods are deleted first.
	removed slots.Removed
	// all lists the slots, lowest first.
	all iter.Seq[slots.Slot]
	// nodes maps the slots to the names of their nodes, or is nil if the slots are numbered.
	// Numbered slots share one limit, the number of slots, and their stuck pods are replaced. The
	// slot of a node waits only for its own previous pod. Its stuck pod is not replaced, because
	// the node could not run another pod.
	nodes map[slots.Slot]string
}

// numbered returns the n lowest slots that are not removed.
func numbered(n int32, removed slots.Removed) slotSet {
	return slotSet{
		count:   n,
		wants:   func(s slots.Slot) bool { return removed.Wants(n, s) },
		removed: removed,
		all:     removed.Wanted(n),
	}
}

// ofOtherPlan reports whether a slot belongs to the kind's other strategy: a numbered slot for a
// set of nodes, or the slot of a node for a set of numbers.
func (s slotSet) ofOtherPlan(slot slots.Slot) bool {
	return slot != slots.None && slot.IsNode() != (s.nodes != nil)
}

// firstToGo sorts pods outside the set for deletion. Those in removed slots come first.
func (s slotSet) firstToGo(a, b Pod) int {
	if removed := s.removed.Has(a.Slot); removed != s.removed.Has(b.Slot) {
		if removed {
			return -1
		}
		return 1
	}
	return highestFirst(a, b)
}
