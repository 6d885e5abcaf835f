package controller

import (
	"testing"
	"time"
)

// A look at many pods is not followed by the next one at once.
func TestRest(t *testing.T) {
	m, k, now := newExpectations(), key{name: "foo"}, time.Unix(1_700_000_000, 0)
	if rest := m.requeueAfter(k, now); rest > 0 {
		t.Errorf("an object that was never looked at has to wait for %v", rest)
	}
	m.begin(k, 1, now)
	m.saw(k, 4000)
	if rest := m.requeueAfter(k, now.Add(40*time.Millisecond)); rest != 60*time.Millisecond {
		t.Errorf("4,000 pods were looked at 40 ms ago: the next look is due in %v, want 60ms", rest)
	}
	m.begin(k, 2, now.Add(time.Second))
	if rest := m.requeueAfter(k, now.Add(time.Second)); rest != 100*time.Millisecond {
		t.Errorf("while the next look is under way, the one after it is due in %v, want 100ms", rest)
	}
	m.forget(k)
	if rest := m.requeueAfter(k, now.Add(time.Second)); rest > 0 {
		t.Errorf("an object that is forgotten has to wait for %v", rest)
	}
}
