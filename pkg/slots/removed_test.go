package slots

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseRemoved(t *testing.T) {
	many := func(n int) string {
		var words []string
		for i := range n {
			words = append(words, fmt.Sprint(i))
		}
		return strings.Join(words, ",")
	}
	for text, want := range map[string]string{
		"": "", " ": "", "0": "0", "1,4": "1,4", " 4 , 1,4": "1,4", "007": "7", "2147483647": "2147483647",
		many(MaxRemoved): many(MaxRemoved), strings.Repeat("1,", 2000) + "1": "1",
		strings.Repeat(" ", MaxRemovedText-1) + "1": "1",
	} {
		if got, err := ParseRemoved(text); err != nil || got.String() != want {
			t.Errorf("ParseRemoved(%.40q) = %.40q, %v, want %.40q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		",": `"" is not`, "1,": `"" is not`, "1;2": `"1;2" is not`, "-1": `"-1" is not`, "x": `"x" is not`, "1.5": "is not the number of a slot",
		"0x1": "is not the number", "2147483648": "is not the number", strings.Repeat("9", 100): `"99999999999999999999" is not`,
		many(MaxRemoved + 1): "1001 slots would be removed", strings.Repeat(" ", MaxRemovedText) + "1": "it is longer than 11000 bytes",
	} {
		if got, err := ParseRemoved(text); err == nil || !strings.Contains(err.Error(), want) || got != nil {
			t.Errorf("ParseRemoved(%.40q) = %.40q, %v, want an error with %q", text, got, err, want)
		}
	}
}

func TestRemovedWith(t *testing.T) {
	r, err := Removed{1, 4}.With(0, 9, 4)
	if err != nil || r.String() != "0,1,4,9" {
		t.Errorf("With(0, 9, 4) = %s, %v, want 0,1,4,9", r, err)
	}
	full := make(Removed, MaxRemoved)
	for i := range full {
		full[i] = Slot(i)
	}
	if _, err := full.With(5); err != nil {
		t.Errorf("With a slot that is already removed: error %v", err)
	}
	if _, err := full.With(MaxRemoved); err == nil || err.Error() != "1001 slots would be removed, and at most 1000 can be" {
		t.Errorf("With one slot too many: error %v", err)
	}
}

// The wanted slots are the lowest slots that are not removed. Removing or reusing a slot does not
// move other pods.
func TestWantedSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		removed, err := Removed(nil).With(drawSlots(t, "removed")...)
		if err != nil {
			t.Fatal(err)
		}
		n := rapid.Int32Range(0, 8).Draw(t, "n")
		wanted := lowest(n, removed)
		if got := slices.Collect(removed.Wanted(n)); !slices.Equal(got, wanted) {
			t.Fatalf("Wanted slots of %d pods without %s = %v, want %v", n, removed, got, wanted)
		}
		for s := range Slot(20) {
			if removed.Wants(n, s) != slices.Contains(wanted, s) {
				t.Fatalf("%d pods without %s: Wants(%s) = %t", n, removed, s, removed.Wants(n, s))
			}
		}
		if removed.Wants(n, None) {
			t.Fatal("None is a wanted slot")
		}
		for _, s := range wanted {
			less, err := removed.With(s)
			if err != nil {
				t.Fatal(err)
			}
			left := slices.DeleteFunc(slices.Clone(wanted), func(o Slot) bool { return o == s })
			if got := lowest(n-1, less); !slices.Equal(got, left) {
				t.Fatalf("wanted slots %v after the removal of %s = %v, want %v", wanted, s, got, left)
			}
		}
		after := rapid.Int32Range(0, 12).Draw(t, "after")
		left, reused := removed.Reuse(n, after)
		if back, err := left.With(reused...); err != nil || !slices.Equal(back, removed) {
			t.Fatalf("Reuse of %s = %s left and %s reused, which do not add up", removed, left, reused)
		}
		then := lowest(after, left)
		for _, s := range slices.Concat(wanted, reused) {
			if after >= n && !slices.Contains(then, s) {
				t.Fatalf("%d → %d without %s: wanted slots %v → %v must include the earlier slots and the reused slots %s", n, after, removed, wanted, then, reused)
			}
		}
		if after <= n && len(reused) > 0 {
			t.Fatalf("%d → %d reuses %s, want none", n, after, reused)
		}
		// If some new pods do not reuse a slot, there is no removed slot below the highest wanted slot.
		if len(reused) < int(after-n) {
			for _, s := range left {
				if len(then) > 0 && s < slices.Max(then) {
					t.Fatalf("%d → %d without %s: slot %s is not reused, only %s", n, after, removed, s, reused)
				}
			}
		}
	})
}

func drawSlots(t *rapid.T, label string) []Slot {
	return rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 11), func(n int) Slot { return Slot(n) }), 0, 6).Draw(t, label)
}

// lowest returns the n lowest numbers that are not removed, by counting.
func lowest(n int32, removed []Slot) []Slot {
	list := []Slot{}
	for s := Slot(0); len(list) < int(n); s++ {
		if !slices.Contains(removed, s) {
			list = append(list, s)
		}
	}
	return list
}

// With the maximum count and removed slots, the highest slot exceeds MaxInt32.
func TestSlotsAboveTheHighestCount(t *testing.T) {
	removed := Removed{0, 1}
	last := Slot(1<<31 - 1 + 2 - 1)
	const n = 1<<31 - 1
	if !removed.Wants(n, last) || removed.Wants(n, last+1) {
		t.Errorf("last slot %s is wanted: %t, the next slot: %t", last, removed.Wants(n, last), removed.Wants(n, last+1))
	}
	if got := FromName(PodName("foo", uid, "", last), "foo", uid, ""); got != last {
		t.Errorf("FromName of the pod in slot %s = %s", last, got)
	}
}

// Formatting a parsed annotation and parsing it again returns the same sorted slots.
func FuzzParseRemoved(f *testing.F) {
	for _, text := range []string{"", "1,4", " 4 , 1,4", "2147483647", "-1", "1,,2", "0x1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		slots, err := ParseRemoved(text)
		if err != nil {
			return
		}
		again, err := ParseRemoved(slots.String())
		if err != nil || !slices.Equal(again, slots) || !slices.IsSorted(slots) {
			t.Errorf("ParseRemoved(%q) = %q, which parses as %q, %v", text, slots, again, err)
		}
	})
}
