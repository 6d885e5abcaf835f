package memory

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/metrics"
)

// Each convergence is counted once, with its duration. If the status is written later, this does
// not count as a second convergence.
func TestConvergenceIsCountedOnce(t *testing.T) {
	t.Parallel()
	counted := metrics.New("")
	states, k, begun := New(counted), Key{Kind: "imoocpods.example.com", Name: "foo"}, time.Unix(1_700_000_000, 0)
	states.Get(k, "u")
	type state struct{ ready, converged bool }
	missing, later, converged := state{}, state{ready: true}, state{ready: true, converged: true}
	for i, step := range []struct {
		state state
		count uint64
		sum   float64
	}{
		{missing, 0, 0}, {missing, 0, 0}, {later, 1, 2}, {converged, 1, 2}, // ready after two seconds
		{later, 1, 2}, {converged, 1, 2}, // the status changes: a terminating pod is gone
		{missing, 1, 2}, {converged, 2, 3}, // ready again after a second
	} {
		states.setProgress(k, begun.Add(time.Duration(i)*time.Second), step.state.ready, Progress{Converged: step.state.converged})
		families, err := counted.Gather()
		if err != nil {
			t.Fatal(err)
		}
		count, sum := uint64(0), 0.0
		for _, family := range families {
			if family.GetName() == "imoocpod_convergence_duration_seconds" {
				count, sum = family.GetMetric()[0].GetHistogram().GetSampleCount(), family.GetMetric()[0].GetHistogram().GetSampleSum()
			}
		}
		if count != step.count || sum != step.sum {
			t.Errorf("step %d: %d convergences in %v s, want %d in %v s", i, count, sum, step.count, step.sum)
		}
		if got := states.Progress(k); got.Converged != step.state.converged {
			t.Errorf("step %d: Converged = %t, want %t", i, got.Converged, step.state.converged)
		}
	}
}

// A new object does not get the memory of an earlier object with the same name.
func TestMemoryIsNotReused(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]func(*Memory, Key){
		"new object with the same name": func(m *Memory, k Key) { m.Get(k, "second") },
		"forgotten object":              func(m *Memory, k Key) { m.Forget(k) },
	} {
		m, k := New(metrics.New("")), Key{Name: "foo"}
		first := m.Get(k, "first")
		first.Failing = 3
		m.Said(k, "a line")
		m.Failed(k, time.Unix(1_700_000_000, 0), errors.New("no"))
		if m.Get(k, "first") != first {
			t.Errorf("%s: the memory of the first object was lost", name)
		}
		forget(m, k)
		planned := m.Progress(k) != nil
		if _, repeated := m.Said(k, "a line"); repeated || planned || m.Get(k, "first").Failing != 0 {
			t.Errorf("%s: the memory of the first object was kept", name)
		}
	}
}

func TestWrote(t *testing.T) {
	t.Parallel()
	o := Object{Written: map[string]string{}}
	for _, version := range []string{"", "9", "10", "8", ""} {
		o.Wrote("pods", version)
	}
	o.Wrote("deployments", "3")
	if want := map[string]string{"pods": "10", "deployments": "3"}; !maps.Equal(o.Written, want) {
		t.Errorf("Written = %v, want %v", o.Written, want)
	}
}

// After a reconcile that read many pods, the next reconcile of the object has to wait.
func TestRest(t *testing.T) {
	t.Parallel()
	m, k, now := New(metrics.New("")), Key{Name: "foo"}, time.Unix(1_700_000_000, 0)
	if rest := m.Rest(k, now); rest > 0 {
		t.Errorf("an object that was never reconciled must wait for %v, want no wait", rest)
	}
	m.Begin(k, now)
	m.Saw(k, 4000)
	if rest := m.Rest(k, now.Add(40*time.Millisecond)); rest != 120*time.Millisecond {
		t.Errorf("4,000 pods were read 40 ms ago: the next reconcile is due in %v, want 120ms", rest)
	}
	m.Begin(k, now.Add(time.Second))
	if rest := m.Rest(k, now.Add(time.Second)); rest != 160*time.Millisecond {
		t.Errorf("while the next reconcile runs, the one after it is due in %v, want 160ms", rest)
	}
	m.Forget(k)
	if rest := m.Rest(k, now.Add(time.Second)); rest > 0 {
		t.Errorf("a forgotten object must wait for %v, want no wait", rest)
	}
}

// A listed object is in the backlog until a change is recorded as a reason, or the object's reconcile begins.
func TestLater(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reasons []bool // the argument later of each call of Because
		want    bool
	}{
		"no reason":            {nil, false},
		"listed":               {[]bool{true, true}, true},
		"changed":              {[]bool{false}, false},
		"listed, then changed": {[]bool{true, false}, false},
		"changed, then listed": {[]bool{false, true}, false},
		"listed many times":    {[]bool{true, true, true, true, true, true, true}, true},
	} {
		m, k := New(metrics.New("")), Key{Name: "foo"}
		for _, later := range test.reasons {
			m.Because(k, later, "it was seen")
		}
		if got := m.Later(k); got != test.want {
			t.Errorf("%s: Later() = %t, want %t", name, got, test.want)
		}
		if m.Begin(k, time.Now()); m.Later(k) {
			t.Errorf("%s: Later() = true after Begin, want false", name)
		}
	}
}
