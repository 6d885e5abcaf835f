package observe

import (
	"testing"
	"time"
)

// A condition is met when it was for long enough, and any break begins that anew.
func TestSteady(t *testing.T) {
	t.Parallel()
	begun := time.Unix(1000, 0)
	h := steady{wanted: 30 * time.Second}
	for _, look := range []struct {
		at   int
		met  bool
		done bool
		left int
	}{
		{0, false, false, 0},
		{5, true, false, 30},
		{15, true, false, 20},
		{20, false, false, 0},
		{21, true, false, 30},
		{50, true, false, 1},
		{51, true, true, 0},
		{99, true, true, 0},
	} {
		done, left := h.look(look.met, begun.Add(time.Duration(look.at)*time.Second))
		if done != look.done || left != time.Duration(look.left)*time.Second {
			t.Errorf("after %d s: %t, %s left", look.at, done, left)
		}
	}
	if done, _ := (&steady{}).look(true, begun); !done {
		t.Error("with no time to wait it is not met at once")
	}
}
