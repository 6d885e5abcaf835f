package plan

import "iter"

// slots are the places that an owner wants pods in.
type slots struct {
	// count is how many there are.
	count int32
	// wants says whether a slot is one of them.
	wants func(Slot) bool
	// all gives them in order, lowest first.
	all iter.Seq[Slot]
}

// numbered are the slots 0 … n-1.
func numbered(n int32) slots {
	return slots{
		count: n,
		wants: func(s Slot) bool { return s >= 0 && s < Slot(n) },
		all: func(yield func(Slot) bool) {
			for s := range Slot(n) {
				if !yield(s) {
					return
				}
			}
		},
	}
}
