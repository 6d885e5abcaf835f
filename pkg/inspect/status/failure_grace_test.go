package status

import (
	"testing"
	"time"
)

// Only what has failed without a break for as long as the patience lasts ends a
// wait.
func TestFailureGrace(t *testing.T) {
	t.Parallel()
	type look struct {
		at      int
		verdict Verdict
		over    bool
		again   int
	}
	for name, test := range map[string]struct {
		patience FailureGrace
		looks    []look
	}{
		"it never fails": {FailureGrace{For: 20 * time.Second}, []look{
			{0, NotReconciled, false, 0}, {50, Progressing, false, 0}, {99, Ready, false, 0},
		}},
		"it fails for good": {FailureGrace{For: 20 * time.Second}, []look{
			{5, Progressing, false, 0}, {10, Failed, false, 20}, {15, Failed, false, 15}, {29, Failed, false, 1}, {30, Failed, true, 0},
		}},
		"it fails, and nothing was seen for long": {FailureGrace{For: 20 * time.Second}, []look{
			{10, Failed, false, 20}, {99, Failed, true, 0},
		}},
		"a passing failure": {FailureGrace{For: 20 * time.Second}, []look{
			{0, Failed, false, 20}, {19, Failed, false, 1}, {19, Progressing, false, 0}, {21, Failed, false, 20}, {40, Failed, false, 1}, {41, Failed, true, 0},
		}},
		"no patience": {FailureGrace{}, []look{{0, Progressing, false, 0}, {1, Failed, true, 0}}},
		"endless patience": {FailureGrace{Endless: true, For: time.Second}, []look{
			{0, Failed, false, 0}, {99, Failed, false, 0},
		}},
	} {
		p := test.patience
		for _, l := range test.looks {
			over, again := p.Look(Report{Verdict: l.verdict}, time.Unix(int64(l.at), 0))
			if over != l.over || again != time.Duration(l.again)*time.Second {
				t.Errorf("%s: %s at %ds: over %t, again after %s; want %t, %ds", name, l.verdict, l.at, over, again, l.over, l.again)
			}
		}
	}
}
