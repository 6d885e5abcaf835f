package syncstate

import (
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/expectations"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/metrics"
)

// A way to convergence is counted once, with the time that it took. A status that is still to be
// written, because pods terminate one after the other, does not begin another.
func TestConvergenceIsCountedOnce(t *testing.T) {
	t.Parallel()
	counted := metrics.New("")
	states, k, begun := New(counted), expectations.Key{Kind: "imoocpods.example.com", Name: "foo"}, time.Unix(1_700_000_000, 0)
	missing, later, converged := State{Why: "1 of 3 pods ready"}, State{StatusLater: true}, State{Converged: true}
	for i, step := range []struct {
		state State
		count uint64
		sum   float64
	}{
		{missing, 0, 0}, {missing, 0, 0}, {later, 1, 2}, {converged, 1, 2}, // after two seconds
		{later, 1, 2}, {converged, 1, 2}, // a pod more is gone
		{missing, 1, 2}, {converged, 2, 3}, // a second later
	} {
		states.Set(k, begun.Add(time.Duration(i)*time.Second), step.state)
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
			t.Errorf("step %d: counted %d in %v s, want %d in %v s", i, count, sum, step.count, step.sum)
		}
		if got, _ := states.Get(k); got.Converged != step.state.Converged {
			t.Errorf("step %d: converged: %t", i, got.Converged)
		}
	}
}
