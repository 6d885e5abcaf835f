package plan

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

func drawSlots(t *rapid.T, label string) []slots.Slot {
	return rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 11), func(n int) slots.Slot { return slots.Slot(n) }), 0, 6).Draw(t, label)
}

func lowest(n int32, removed []slots.Slot) []slots.Slot {
	list := []slots.Slot{}
	for s := slots.Slot(0); len(list) < int(n); s++ {
		if !slices.Contains(removed, s) {
			list = append(list, s)
		}
	}
	return list
}

// When a slot is removed, its failures and refusals are dropped.
func TestRemovedSlotIsForgotten(t *testing.T) {
	v := view(1, "0 1f")
	v.Owner.Removed = slots.Removed{1}
	v.Memory.Failures = map[slots.Slot]Failure{1: {UID: v.Pods[1].UID, At: noon, Count: 3}}
	v.Memory = v.Memory.Refused(1, Refusal{Reason: "NameTaken", At: noon})
	if p := Pods(v); len(p.Memory.Failures)+len(p.Memory.Refusals) > 0 {
		t.Errorf("remembers %v and %v", p.Memory.Failures, p.Memory.Refusals)
	}
}

func TestFailureBesideARemovedSlot(t *testing.T) {
	v := view(2, "0 1f 2")
	v.Owner.Removed = slots.Removed{0}
	if p := Pods(v); p.Memory.Failures[1].Count != 1 {
		t.Errorf("remembers the failures %v", p.Memory.Failures)
	}
}
