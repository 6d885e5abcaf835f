package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseRemovedSlots(t *testing.T) {
	many := func(n int) string {
		var words []string
		for i := range n {
			words = append(words, fmt.Sprint(i))
		}
		return strings.Join(words, ",")
	}
	for text, want := range map[string]string{
		"": "", " ": "", "0": "0", "1,4": "1,4", " 4 , 1,4": "1,4", "007": "7", "2147483647": "2147483647",
		many(MaxRemovedSlots): many(MaxRemovedSlots), strings.Repeat("1,", 2000) + "1": "1",
		strings.Repeat(" ", MaxRemovedText-1) + "1": "1",
	} {
		if got, err := ParseRemovedSlots(text); err != nil || got.String() != want {
			t.Errorf("%.40q is %.40q (%v), want %.40q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		",": `"" is not`, "1,": `"" is not`, "1;2": `"1;2" is not`, "-1": `"-1" is not`, "x": `"x" is not`, "1.5": "is not the number of a slot",
		"0x1": "is not the number", "2147483648": "is not the number", strings.Repeat("9", 100): `"99999999999999999999" is not`,
		many(MaxRemovedSlots + 1): "it lists 1001 slots", strings.Repeat(" ", MaxRemovedText) + "1": "it is longer than 11000 bytes",
	} {
		if got, err := ParseRemovedSlots(text); err == nil || !strings.Contains(err.Error(), want) || got != nil {
			t.Errorf("%.40q is %.40q (%v), want an error with %q", text, got, err, want)
		}
	}
}

func TestRemovedSlotsWith(t *testing.T) {
	r, err := RemovedSlots{1, 4}.With(0, 9, 4)
	if err != nil || r.String() != "0,1,4,9" {
		t.Errorf("got %s (%v)", r, err)
	}
	full := make(RemovedSlots, MaxRemovedSlots)
	for i := range full {
		full[i] = Slot(i)
	}
	if _, err := full.With(5); err != nil {
		t.Errorf("a slot that is removed already: %v", err)
	}
	if _, err := full.With(MaxRemovedSlots); err == nil || err.Error() != "1000 slots are removed, and at most 1000 can be" {
		t.Errorf("one too many: %v", err)
	}
}

// The wanted slots are the lowest that are not removed. To remove one more of them
// takes that one away and no other, and to take some back moves none.
func TestWantedSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		removed, err := RemovedSlots(nil).With(drawSlots(t, "removed")...)
		if err != nil {
			t.Fatal(err)
		}
		n := rapid.Int32Range(0, 8).Draw(t, "n")
		wanted := lowest(n, removed)
		if got := slices.Collect(numbered(n, removed).all); !slices.Equal(got, wanted) {
			t.Fatalf("%d slots without %s are %v, want %v", n, removed, got, wanted)
		}
		for s := range Slot(20) {
			if removed.Wants(n, s) != slices.Contains(wanted, s) {
				t.Fatalf("%d slots without %s: slot %s is wanted: %t", n, removed, s, removed.Wants(n, s))
			}
		}
		if removed.Wants(n, NoSlot) {
			t.Fatal("no slot is wanted")
		}
		for _, s := range wanted {
			less, err := removed.With(s)
			if err != nil {
				t.Fatal(err)
			}
			left := slices.DeleteFunc(slices.Clone(wanted), func(o Slot) bool { return o == s })
			if got := lowest(n-1, less); !slices.Equal(got, left) {
				t.Fatalf("of %v slot %s was removed, and %v are left", wanted, s, got)
			}
		}
		after := rapid.Int32Range(0, 12).Draw(t, "after")
		left, reused := removed.Reuse(n, after)
		if back, err := left.With(reused...); err != nil || !slices.Equal(back, removed) {
			t.Fatalf("of %s %s is left and %s reused", removed, left, reused)
		}
		then := lowest(after, left)
		for _, s := range slices.Concat(wanted, reused) {
			if after >= n && !slices.Contains(then, s) {
				t.Fatalf("%d → %d without %s: %v → %v reuses %s", n, after, removed, wanted, then, reused)
			}
		}
		if after <= n && len(reused) > 0 {
			t.Fatalf("%d → %d reuses %s", n, after, reused)
		}
		// What stays removed has no place: all new pods are in slots that were.
		if len(reused) < int(after-n) {
			for _, s := range left {
				if len(then) > 0 && s < slices.Max(then) {
					t.Fatalf("%d → %d without %s: slot %s could be reused beside %s", n, after, removed, s, reused)
				}
			}
		}
	})
}

// drawSlots draws slots, some of them twice.
func drawSlots(t *rapid.T, label string) []Slot {
	return rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 11), func(n int) Slot { return Slot(n) }), 0, 6).Draw(t, label)
}

// lowest lists the n lowest numbers that are not removed, as a person counts them.
func lowest(n int32, removed []Slot) []Slot {
	list := []Slot{}
	for s := Slot(0); len(list) < int(n); s++ {
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
		removed RemovedSlots
		pods    string
		want    string
	}{
		{"from nothing", 3, RemovedSlots{1}, "", "+0 +2 +3"},
		{"converged", 2, RemovedSlots{1}, "0 2", ""},
		{"only the victim goes", 2, RemovedSlots{1}, "0 1 2", "-1:surplus"},
		{"the lowest slot", 2, RemovedSlots{0}, "0 1 2", "-0:surplus"},
		{"the highest slot", 2, RemovedSlots{2}, "0 1 2", "-2:surplus"},
		{"several victims", 2, RemovedSlots{0, 2}, "0 1 2 3", "-2:surplus -0:surplus"},
		{"the last pod", 0, RemovedSlots{0}, "0", "-0:surplus"},
		{"a victim that is not ready", 2, RemovedSlots{1}, "0 1n 2", "-1:surplus"},
		{"a ready victim beside pods that are not", 2, RemovedSlots{1}, "0n 1 2n", "-1:surplus"},
		{"a victim that is on its way is not made again", 2, RemovedSlots{1}, "0 1t 2", ""},
		{"a victim that has ended is not made again", 2, RemovedSlots{1}, "0 1f 2", "-1:finished"},
		{"a lost victim is not bypassed", 2, RemovedSlots{1}, "0 1l 2", ""},
		{"a victim goes before what is outside the slots anyway", 2, RemovedSlots{1}, "0 1 7", "-1:surplus"},
		{"in whatever order they are listed", 2, RemovedSlots{1}, "7 1 0", "-1:surplus"},
		{"also before pods without a slot", 1, RemovedSlots{1}, "0 1 x", "-1:surplus --1:surplus"},
		{"a pod that ends keeps the victim", 2, RemovedSlots{1}, "0 1 2t", ""},
		{"then the victim gives way to the pod in its place", 2, RemovedSlots{1}, "0 1", "-1:outdated"},
		{"a pod was deleted", 3, RemovedSlots{1}, "0 3", "+2"},
		{"scale up fills a slot above", 3, RemovedSlots{1}, "0 2", "+3"},
		{"scale up where a removed slot is reused", 3, nil, "0 2", "+1"},
		{"scale down takes the highest slot", 1, RemovedSlots{1}, "0 2", "-2:surplus"},
		{"a removed slot above the wanted ones means nothing", 2, RemovedSlots{5}, "0 1", ""},
		{"until the count reaches it", 6, RemovedSlots{5}, "0 1 2 3 4", "+6"},
		{"without any slot", 0, RemovedSlots{0, 1}, "", ""},
	} {
		v := view(test.desired, test.pods)
		v.Owner.Removed = test.removed
		if got := deeds(Pods(v)); got != test.want {
			t.Errorf("%s: %d without %s, pods %q: planned %q, want %q", test.name, test.desired, test.removed, test.pods, got, test.want)
		}
	}
}

// What is known of a slot ends when it is given up.
func TestRemovedSlotIsForgotten(t *testing.T) {
	v := view(1, "0 1f")
	v.Owner.Removed = RemovedSlots{1}
	v.Memory.Failures = map[Slot]Failure{1: {UID: v.Pods[1].UID, At: noon, Count: 3}}
	v.Memory = v.Memory.Refused(1, Refusal{Reason: "NameTaken", At: noon})
	if p := Pods(v); len(p.Memory.Failures)+len(p.Memory.Refusals) > 0 {
		t.Errorf("remembers %v and %v", p.Memory.Failures, p.Memory.Refusals)
	}
}

// A failure above a slot that was given up counts.
func TestFailureBesideARemovedSlot(t *testing.T) {
	v := view(2, "0 1f 2")
	v.Owner.Removed = RemovedSlots{0}
	if p := Pods(v); p.Memory.Failures[1].Count != 1 {
		t.Errorf("remembers the failures %v", p.Memory.Failures)
	}
}

// A count near the highest there is has its slots above the removed ones.
func TestSlotsAboveTheHighestCount(t *testing.T) {
	removed := RemovedSlots{0, 1}
	last := Slot(1<<31 - 1 + 2 - 1)
	if s := numbered(1<<31-1, removed); !s.wants(last) || s.wants(last+1) {
		t.Errorf("slot %s is wanted: %t, the next one: %t", last, s.wants(last), s.wants(last+1))
	}
	if got := SlotOf(PodName("foo", uid, "", last), "foo", uid, ""); got != last {
		t.Errorf("the name of slot %s stands for %s", last, got)
	}
}

// What is read of an annotation is written back the same, and is sorted.
func FuzzParseRemovedSlots(f *testing.F) {
	for _, text := range []string{"", "1,4", " 4 , 1,4", "2147483647", "-1", "1,,2", "0x1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		slots, err := ParseRemovedSlots(text)
		if err != nil {
			return
		}
		again, err := ParseRemovedSlots(slots.String())
		if err != nil || !slices.Equal(again, slots) || !slices.IsSorted(slots) {
			t.Errorf("%q reads as %q, which reads as %q (%v)", text, slots, again, err)
		}
	})
}
