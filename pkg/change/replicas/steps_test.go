package replicas

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

func TestSteps(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		from, to int32
		step     string
		want     []int32
	}{
		{5, 40, "10", []int32{15, 25, 35, 40}},
		{5, 40, "25%", []int32{14, 23, 32, 40}}, // 8.75 is rounded up to 9
		{40, 5, "10", []int32{30, 20, 10, 5}},
		{0, 3, "1", []int32{1, 2, 3}},
		{0, 3, "1%", []int32{1, 2, 3}},
		{3, 0, "50%", []int32{1, 0}},
		{2, 10, "100%", []int32{10}},
		{2, 10, "8", []int32{10}},
		{2, 10, "9", []int32{10}},
		{4, 4, "1", []int32{4}},
		{0, 0, "50%", []int32{0}},
		{0, math.MaxInt32, "2147483647", []int32{math.MaxInt32}},
		{math.MaxInt32, 0, "50%", []int32{math.MaxInt32 / 2, 0}},
	} {
		step, err := ParseStep(test.step)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Steps(test.from, test.to, step); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("Steps(%d, %d, %s) = %v, %v, want %v", test.from, test.to, &step, got, err, test.want)
		}
	}
	if _, err := Steps(math.MaxInt32, 3, intstr.FromInt32(1)); !errors.Is(err, outcome.ErrRefused) {
		t.Errorf("2147483644 steps: error %v, want ErrRefused", err)
	}
}

func TestParseStep(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"", "0", "0%", "101%", "-1", "+1", "1.5", "ten", "2147483648", "99999999999999999999", "%", "1 %"} {
		if step, err := ParseStep(word); err == nil {
			t.Errorf("ParseStep(%q) = %s, want an error", word, &step)
		}
	}
	for _, word := range []string{"1", "10", "2147483647", "1%", "100%"} {
		if step, err := ParseStep(word); err != nil || step.String() != word {
			t.Errorf("ParseStep(%q) = %s, %v, want a step with the same text", word, &step, err)
		}
	}
}

// Steps go in one direction, and all but the last have the same size. They end at the requested count, even
// if the change is continued from a count in between.
func TestStepsEndAtTheRequestedCount(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		from, to := rapid.Int32Range(0, maxSteps).Draw(t, "from"), rapid.Int32Range(0, maxSteps).Draw(t, "to")
		wanted, percent := rapid.Int32Range(1, 100).Draw(t, "size"), rapid.Bool().Draw(t, "percent")
		step := intstr.FromInt32(wanted)
		if percent {
			step = intstr.FromString(fmt.Sprintf("%d%%", wanted))
		}
		counts, err := Steps(from, to, step)
		if err != nil {
			t.Fatal(err)
		}
		distance := max(to-from, from-to)
		size := wanted
		if percent {
			size = max(1, (distance*wanted+99)/100)
		}
		before := from
		for i, count := range counts {
			went := count - before
			if to < from {
				went = -went
			}
			if last := i == len(counts)-1; !last && went != size || last && (went < 0 || went > size) || !last && went == 0 {
				t.Fatalf("counts %v change by %d from %d, want steps of %d", counts, went, before, size)
			}
			before = count
		}
		if before != to {
			t.Fatalf("counts %v end at %d, want %d", counts, before, to)
		}
		if percent && distance > 0 && len(counts) > 100 {
			t.Fatalf("%d steps of %s, want at most 100", len(counts), &step)
		}
		at := rapid.SampledFrom(counts).Draw(t, "interrupted at")
		if rest, err := Steps(at, to, step); err != nil || rest[len(rest)-1] != to {
			t.Fatalf("continued from %d: counts %v, error %v; want %d as the last count", at, rest, err, to)
		}
	})
}

// A formatted step parses to the same step. For any parsed step, Steps ends at the target count.
func FuzzParseStep(f *testing.F) {
	for _, word := range []string{"", "10", "25%", "100%", "101%", "0", "-1", "2147483647", "2147483648", "010"} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		step, err := ParseStep(word)
		if err != nil {
			return
		}
		if again, err := ParseStep(step.String()); err != nil || again != step {
			t.Errorf("ParseStep(%q) = %s, which parses as %s (%v)", word, &step, &again, err)
		}
		counts, err := Steps(3, 40, step)
		if err != nil || len(counts) == 0 || counts[len(counts)-1] != 40 {
			t.Errorf("Steps from 3 to 40 by %q = %d, want 40 as the last count", word, counts)
		}
	})
}
