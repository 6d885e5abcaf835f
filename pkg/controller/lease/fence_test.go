package lease

import (
	"errors"
	"net/http"
	"testing"
	"time"
	"unsafe"

	clocktesting "k8s.io/utils/clock/testing"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The loop writes nothing when another loop may hold the lease. Reads always pass.
func TestFence(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for name, test := range map[string]struct {
		method string
		since  time.Duration // the time since the last renewal
		never  bool          // the lease was never renewed
		passes bool
	}{
		"a write right after a renewal":               {method: http.MethodPost, passes: true},
		"a write just before the deadline for writes": {method: http.MethodPatch, since: writesFor - 1, passes: true},
		"a write at the deadline for writes":          {method: http.MethodDelete, since: writesFor},
		"a write after hours of suspend":              {method: http.MethodPost, since: 3 * time.Hour},
		"a write before the first renewal":            {method: http.MethodPost, never: true},
		"a read after hours of suspend":               {method: http.MethodGet, since: 3 * time.Hour, passes: true},
		"a write after the clock was set back":        {method: http.MethodPost, since: -time.Hour, passes: true},
		"a write when the lease expires":              {method: http.MethodPut, since: leaseDuration},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Without monotonic readings, both comparisons use the wall clock, which also advances during a suspend.
			clk := clocktesting.NewFakePassiveClock(start.Round(0).Add(test.since))
			l := &Lease{Clock: clk, OnChange: func(string, bool) {}}
			if !test.never {
				l.renewedAt(start.Round(0))
			}
			passed := false
			fence := l.Fence(roundTripper(func(*http.Request) (*http.Response, error) {
				passed = true
				return &http.Response{Body: http.NoBody}, nil
			}))
			resp, err := fence.RoundTrip(&http.Request{Method: test.method})
			if err == nil {
				_ = resp.Body.Close()
			}
			if passed != test.passes || (err == nil) != test.passes || (err != nil && !errors.Is(err, errLeaseNotHeld)) {
				t.Errorf("request passed: %v, error: %v; want the opposite, with errLeaseNotHeld if the request is blocked", passed, err)
			}
		})
	}
}

// clocksAfter returns a time whose wall clock and monotonic clock have advanced by different
// durations, as after a suspend or a change of the clock.
func clocksAfter(t *testing.T, start time.Time, wall, monotonic time.Duration) time.Time {
	t.Helper()
	now := start.Add(wall) // advances both clocks
	layout := (*struct {
		wall      uint64
		monotonic int64
		location  *time.Location
	})(unsafe.Pointer(&now)) //nolint:gosec // package time cannot change only one of the clocks
	layout.monotonic += int64(monotonic - wall)
	if now.Sub(start) != monotonic || now.Round(0).Sub(start.Round(0)) != wall {
		t.Fatalf("the clocks moved by %s and %s, want %s and %s", now.Round(0).Sub(start.Round(0)), now.Sub(start), wall, monotonic)
	}
	return now
}

// A lease is held only if the last renewal is recent by both clocks, because the monotonic clock stops
// while the machine is suspended, and users can set the wall clock back.
func TestLeaseExpiresByEitherClock(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for name, test := range map[string]struct {
		wall, monotonic time.Duration // the time since the last renewal, by each clock
		held            bool
	}{
		"both clocks just before the deadline":      {writesFor - 1, writesFor - 1, true},
		"the machine was suspended":                 {3 * time.Hour, time.Second, false},
		"the clock was set forward":                 {writesFor, time.Second, false},
		"the clock was set back":                    {-time.Hour, writesFor, false},
		"the clock was set back, renewal is recent": {-time.Hour, time.Second, true},
		"the clock was set back a little":           {writesFor - 1, writesFor, false},
	} {
		now := clocksAfter(t, start, test.wall, test.monotonic)
		l := &Lease{Clock: clocktesting.NewFakePassiveClock(now), OnChange: func(string, bool) {}}
		l.renewedAt(start)
		if l.held() != test.held {
			t.Errorf("%s: held = %v, want %v", name, !test.held, test.held)
		}
	}
}
