package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxRemovedSlots is how many slots an object can give up, and MaxRemovedText how long
// the annotation that lists them can be, in bytes. It is in every copy of the object.
const (
	MaxRemovedSlots = 1000
	MaxRemovedText  = MaxRemovedSlots * len("2147483647,")
)

// RemovedSlots are the numbers of the slots that an object has given up, sorted and
// each once. The wanted slots are the lowest numbers that are not among them, as many
// as the object asks for: with slot 1 removed, three pods are in the slots 0, 2 and 3.
type RemovedSlots []Slot

// ParseRemovedSlots reads the annotation imoocpod.dev/removed-slots, such as "1,4":
// numbers from 0 to 2147483647, in any order. An empty one removes none.
func ParseRemovedSlots(text string) (RemovedSlots, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if len(text) > MaxRemovedText {
		return nil, fmt.Errorf("it is longer than %d bytes", MaxRemovedText)
	}
	var slots RemovedSlots
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(word), 10, 32)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%.20q is not the number of a slot", word)
		}
		slots = append(slots, Slot(n))
	}
	slices.Sort(slots)
	if slots = slices.Compact(slots); len(slots) > MaxRemovedSlots {
		return nil, fmt.Errorf("it lists %d slots, and at most %d can be removed", len(slots), MaxRemovedSlots)
	}
	return slots, nil
}

// String is the value of the annotation.
func (r RemovedSlots) String() string {
	words := make([]string, 0, len(r))
	for _, s := range r {
		words = append(words, s.String())
	}
	return strings.Join(words, ",")
}

// Has reports whether a slot is one of them.
func (r RemovedSlots) Has(s Slot) bool {
	_, found := slices.BinarySearch(r, s)
	return found
}

// With adds slots. It is an error if there are too many then.
func (r RemovedSlots) With(more ...Slot) (RemovedSlots, error) {
	all := slices.Concat(r, more)
	slices.Sort(all)
	if all = slices.Compact(all); len(all) > MaxRemovedSlots {
		return nil, fmt.Errorf("%d slots are removed, and at most %d can be", len(r), MaxRemovedSlots)
	}
	return all, nil
}

// Wants reports whether a slot is one of the n that are wanted.
func (r RemovedSlots) Wants(n int32, s Slot) bool { return s >= 0 && s < r.end(n) && !r.Has(s) }

// end is above all of the n slots that are wanted, by one if there are any.
func (r RemovedSlots) end(n int32) Slot {
	end := Slot(n)
	for _, s := range r {
		if s >= end {
			break
		}
		end++
	}
	return end
}

// Reuse takes back the lowest removed slots when the count grows, at most as many as
// there are new pods. So no pod that is there has to move to another slot.
func (r RemovedSlots) Reuse(before, after int32) (left, reused RemovedSlots) {
	left = r
	for len(left) > 0 && len(reused) < int(after-before) && left[0] < left.end(after) {
		reused, left = append(reused, left[0]), left[1:]
	}
	return left, reused
}
