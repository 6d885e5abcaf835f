package controller

import (
	"errors"
	"net/http"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

type sent func(*http.Request) (*http.Response, error)

func (s sent) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

// Nothing is written once another may have the lease, whatever the clock did.
func TestFence(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for name, test := range map[string]struct {
		method string
		since  time.Duration // from the last renewal
		never  bool          // renewed
		passes bool
	}{
		"a write right after a renewal":         {method: http.MethodPost, passes: true},
		"a write shortly before it runs out":    {method: http.MethodPatch, since: writesFor - 1, passes: true},
		"a write after it":                      {method: http.MethodDelete, since: writesFor},
		"a write after hours of sleep":          {method: http.MethodPost, since: 3 * time.Hour},
		"a write before there is a lease":       {method: http.MethodPost, never: true},
		"a read after hours of sleep":           {method: http.MethodGet, since: 3 * time.Hour, passes: true},
		"a write after the clock was set back":  {method: http.MethodPost, since: -time.Hour, passes: true},
		"a write that comes with the last tick": {method: http.MethodPut, since: leaseDuration},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// A time without a monotonic part is what a machine that slept compares by.
			clk := clocktesting.NewFakePassiveClock(start.Round(0).Add(test.since))
			l := &Lease{Clock: clk}
			if !test.never {
				l.renewedAt(start.Round(0))
			}
			passed := false
			fence := l.Fence(sent(func(*http.Request) (*http.Response, error) {
				passed = true
				return &http.Response{Body: http.NoBody}, nil
			}))
			resp, err := fence.RoundTrip(&http.Request{Method: test.method})
			if err == nil {
				_ = resp.Body.Close()
			}
			if passed != test.passes || (err == nil) != test.passes || (err != nil && !errors.Is(err, errLeaseNotHeld)) {
				t.Errorf("passed: %v, error: %v", passed, err)
			}
		})
	}
}

func TestDeadHolder(t *testing.T) {
	t.Parallel()
	self := ThisProcess("v1", status.Scope{Namespace: "a"})
	if self.Machine == "" || self.Holder == "" || self.User == "" || self.Host == "" {
		t.Fatalf("this process is %+v", self)
	}
	l := &Lease{Self: self}
	for name, test := range map[string]struct {
		change func(*status.Loop)
		dead   bool
	}{
		"this loop":               {func(*status.Loop) {}, false},
		"its parent, which lives": {func(o *status.Loop) { o.Holder, o.PID = "x", 1 }, false},
		"one of its number":       {func(o *status.Loop) { o.Holder = "x" }, true},
		"a number that is free":   {func(o *status.Loop) { o.Holder, o.PID = "x", 1<<30 }, true},
		"on another machine":      {func(o *status.Loop) { o.Holder, o.PID, o.Machine = "x", 1<<30, "other" }, false},
		"on nobody knows which":   {func(o *status.Loop) { o.Holder, o.PID, o.Machine = "x", 1<<30, "" }, false},
	} {
		other := self
		test.change(&other)
		if l.dead(other) != test.dead {
			t.Errorf("%s: dead is %v, want %v", name, !test.dead, test.dead)
		}
	}
}
