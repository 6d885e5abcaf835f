package plan

import "iter"

// slots are the places that an owner wants pods in.
type slots struct {
	// count is how many there are.
	count int32
	// wants reports whether a slot is one of them, keeps whether a pod that is in it
	// may stay although it is none.
	wants, keeps func(Slot) bool
	// all gives them in order, lowest first.
	all iter.Seq[Slot]
	// nodes are the names of the nodes that they stand for; nil: they are numbered.
	// Numbered slots share the room of as many pods as there are slots, and a lost
	// pod of one is replaced while it is stuck. A node waits for nothing but its own last pod, and
	// while it is lost, no other pod could run there.
	nodes map[Slot]string
}

// numbered are the slots 0 … n-1.
func numbered(n int32) slots {
	return slots{
		count: n,
		wants: func(s Slot) bool { return s >= 0 && s < Slot(n) },
		keeps: func(Slot) bool { return false },
		all: func(yield func(Slot) bool) {
			for s := range Slot(n) {
				if !yield(s) {
					return
				}
			}
		},
	}
}
