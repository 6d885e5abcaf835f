package plan

import "iter"

// slots are the places that an owner wants pods in.
type slots struct {
	// count is how many there are.
	count int32
	// wants reports whether a slot is one of them, keeps whether a pod that is in it
	// may stay although it is none.
	wants, keeps func(Slot) bool
	// removed are those that the owner has given up: what is in them goes first.
	removed RemovedSlots
	// all gives them in order, lowest first.
	all iter.Seq[Slot]
	// nodes are the names of the nodes that they stand for; nil: they are numbered.
	// Numbered slots share the room of as many pods as there are slots, and a lost
	// pod of one is replaced while it is stuck. A node waits for nothing but its own last pod, and
	// while it is lost, no other pod could run there.
	nodes map[Slot]string
}

// numbered are the n lowest slots that are not removed.
func numbered(n int32, removed RemovedSlots) slots {
	end := removed.end(n)
	return slots{
		count:   n,
		wants:   func(s Slot) bool { return s >= 0 && s < end && !removed.Has(s) },
		keeps:   func(Slot) bool { return false },
		removed: removed,
		all: func(yield func(Slot) bool) {
			for s := range end {
				if !removed.Has(s) && !yield(s) {
					return
				}
			}
		},
	}
}

// ofOtherPlan reports whether a slot is of the sort that these slots are not: numbered
// where they stand for nodes, and the reverse.
func (s slots) ofOtherPlan(slot Slot) bool {
	return slot != NoSlot && slot.ofNode() != (s.nodes != nil)
}

// firstToGo is the order in which pods outside the slots go.
func (s slots) firstToGo(a, b Pod) int {
	if removed := s.removed.Has(a.Slot); removed != s.removed.Has(b.Slot) {
		if removed {
			return -1
		}
		return 1
	}
	return highestFirst(a, b)
}
