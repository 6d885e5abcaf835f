package plan

import (
	"iter"

	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// slotSet is the set of slots in which an owner wants pods.
type slotSet struct {
	count int32
	// wants reports whether a slot is in the set. kept contains other slots in which an existing pod may stay.
	wants func(slots.Slot) bool
	kept  map[slots.Slot]bool
	// removed lists the slots that the user has removed. Their pods are deleted first.
	removed slots.Removed
	// all lists the slots, lowest first.
	all iter.Seq[slots.Slot]
	// nodes maps the slots to the names of their nodes, or is nil if the slots are numbered. For numbered slots, the
	// total number of live pods is limited to count, and stuck pods are replaced. The slot of a node can get a pod as
	// soon as its previous pod is gone. A stuck pod there is not replaced, because the node could not run another pod.
	nodes map[slots.Slot]string
}

// numbered returns the set of the n lowest slots that are not removed.
func numbered(n int32, removed slots.Removed) slotSet {
	return slotSet{
		count:   n,
		wants:   func(s slots.Slot) bool { return removed.Wants(n, s) },
		removed: removed,
		all:     removed.Wanted(n),
	}
}

// ofOtherPlan reports whether a slot is from the kind's previous strategy: a number if s has nodes, or vice versa.
func (s slotSet) ofOtherPlan(slot slots.Slot) bool {
	return slot != slots.None && slot.IsNode() != (s.nodes != nil)
}

// firstToGo orders pods for deletion: first the pods in removed slots, and then the pods in the highest slots.
func (s slotSet) firstToGo(a, b Pod) int {
	if removed := s.removed.Has(a.Slot); removed != s.removed.Has(b.Slot) {
		if removed {
			return -1
		}
		return 1
	}
	return highestFirst(a, b)
}
