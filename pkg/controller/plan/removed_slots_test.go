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

func TestPodsWithRemovedSlots(t *testing.T) {
	for _, test := range []struct {
		name    string
		desired int32
		removed slots.Removed
		pods    string
		want    string
	}{
		{"from nothing", 3, slots.Removed{1}, "", "+0 +2 +3"},
		{"converged", 2, slots.Removed{1}, "0 2", ""},
		{"only the victim goes", 2, slots.Removed{1}, "0 1 2", "-1:surplus"},
		{"the lowest slot", 2, slots.Removed{0}, "0 1 2", "-0:surplus"},
		{"the highest slot", 2, slots.Removed{2}, "0 1 2", "-2:surplus"},
		{"several victims", 2, slots.Removed{0, 2}, "0 1 2 3", "-2:surplus -0:surplus"},
		{"the last pod", 0, slots.Removed{0}, "0", "-0:surplus"},
		{"a victim that is not ready", 2, slots.Removed{1}, "0 1n 2", "-1:surplus"},
		{"a ready victim beside pods that are not", 2, slots.Removed{1}, "0n 1 2n", "-1:surplus"},
		{"a victim that is on its way is not made again", 2, slots.Removed{1}, "0 1t 2", ""},
		{"a victim that has ended is not made again", 2, slots.Removed{1}, "0 1f 2", "-1:finished"},
		{"a lost victim is not bypassed", 2, slots.Removed{1}, "0 1l 2", ""},
		{"a victim goes before what is outside the slots anyway", 2, slots.Removed{1}, "0 1 7", "-1:surplus"},
		{"in whatever order they are listed", 2, slots.Removed{1}, "7 1 0", "-1:surplus"},
		{"also before pods without a slot", 1, slots.Removed{1}, "0 1 x", "-1:surplus --1:surplus"},
		{"a pod that ends keeps the victim", 2, slots.Removed{1}, "0 1 2t", ""},
		{"then the victim gives way to the pod in its place", 2, slots.Removed{1}, "0 1", "-1:outdated"},
		{"a pod was deleted", 3, slots.Removed{1}, "0 3", "+2"},
		{"scale up fills a slot above", 3, slots.Removed{1}, "0 2", "+3"},
		{"scale up where a removed slot is reused", 3, nil, "0 2", "+1"},
		{"scale down takes the highest slot", 1, slots.Removed{1}, "0 2", "-2:surplus"},
		{"a removed slot above the wanted ones means nothing", 2, slots.Removed{5}, "0 1", ""},
		{"until the count reaches it", 6, slots.Removed{5}, "0 1 2 3 4", "+6"},
		{"without any slot", 0, slots.Removed{0, 1}, "", ""},
	} {
		v := view(test.desired, test.pods)
		v.Owner.Removed = test.removed
		if got := deeds(Pods(v)); got != test.want {
			t.Errorf("%s: %d without %s, pods %q: planned %q, want %q", test.name, test.desired, test.removed, test.pods, got, test.want)
		}
	}
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
