package slots

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// MaxRemoved is the maximum number of removed slots of an object. MaxRemovedText is the maximum length of the
// annotation that lists them. Both are limited, because every cached copy of the object has the annotation.
const (
	MaxRemoved     = 1000
	MaxRemovedText = MaxRemoved * len("2147483647,")
)

// Removed lists the removed slots of an object, sorted and without duplicates. The pods of the object are in the lowest
// slots that are not removed. For example, if slot 1 is removed, three pods are in the slots 0, 2, and 3.
type Removed []Slot

// ParseRemoved parses the annotation imoocpod.dev/removed-slots: numbers from 0 to 2147483647 in any order, like "4,1".
func ParseRemoved(text string) (Removed, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if len(text) > MaxRemovedText {
		return nil, fmt.Errorf("it is longer than %d bytes", MaxRemovedText)
	}
	var removed []Slot
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(word), 10, 32)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%.20q is not the number of a slot", word)
		}
		removed = append(removed, Slot(n))
	}
	return Removed{}.With(removed...)
}

// String formats the value of the annotation.
func (r Removed) String() string {
	words := make([]string, 0, len(r))
	for _, s := range r {
		words = append(words, s.String())
	}
	return strings.Join(words, ",")
}

// Has reports whether a slot is removed.
func (r Removed) Has(s Slot) bool {
	_, found := slices.BinarySearch(r, s)
	return found
}

// With returns the union of r and more. It returns an error if the union exceeds MaxRemoved.
func (r Removed) With(more ...Slot) (Removed, error) {
	all := slices.Concat(r, more)
	slices.Sort(all)
	if all = slices.Compact(all); len(all) > MaxRemoved {
		return nil, fmt.Errorf("%d slots would be removed, and at most %d can be", len(all), MaxRemoved)
	}
	return all, nil
}

// Wants reports whether a slot is one of the n lowest slots that are not removed.
func (r Removed) Wants(n int32, s Slot) bool { return s >= 0 && s < r.end(n) && !r.Has(s) }

// Wanted yields the n lowest slots that are not removed, in ascending order.
func (r Removed) Wanted(n int32) iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		for s := range r.end(n) {
			if !r.Has(s) && !yield(s) {
				return
			}
		}
	}
}

// end returns the number after the highest of the n wanted slots.
func (r Removed) end(n int32) Slot {
	end := Slot(n)
	for _, s := range r {
		if s >= end {
			break
		}
		end++
	}
	return end
}

// Reuse splits r for a replica count that grows from before to after. reused contains the lowest removed slots, at most
// one for each new pod, but only slots below the highest wanted slot: scaling from three to five does not reuse slot
// 100. left contains the remaining removed slots. Existing pods keep their slots.
func (r Removed) Reuse(before, after int32) (left, reused Removed) {
	left = r
	for len(left) > 0 && len(reused) < int(after-before) && left[0] < left.end(after) {
		reused, left = append(reused, left[0]), left[1:]
	}
	return left, reused
}
