package controller

import (
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/metrics"
)

func TestStuck(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	clk := clocktesting.NewFakePassiveClock(start)
	c := &Controller{Options: Options{Clock: clk}, memory: memory.New(metrics.New(""))}
	foo, bar := memory.Key{Kind: "imoocpods.g", Namespace: "a", Name: "foo"}, memory.Key{Kind: "imoocpods.g", Namespace: "a", Name: "bar"}
	stuck := func(at time.Duration, want string) {
		t.Helper()
		clk.SetTime(start.Add(at))
		if got := c.Stuck(); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("after %s: Stuck() = %q, want %q", at, got, want)
		}
	}
	stuck(0, "")
	c.memory.Begin(foo, start)
	c.memory.Begin(bar, start.Add(time.Minute))
	stuck(stuckAfter-1, "")
	stuck(stuckAfter, "imoocpods.g a/foo has not ended since 2026-01-02 15:04:05 UTC")
	stuck(2*stuckAfter, "a/foo")
	c.memory.End(foo)
	stuck(stuckAfter, "")
	stuck(2*stuckAfter, "a/bar")
	c.memory.End(bar)
	stuck(3*stuckAfter, "")
}
