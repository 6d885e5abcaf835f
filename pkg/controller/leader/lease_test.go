package leader

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"testing"
	"time"
	"unsafe"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
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

// clocksAfter is a time of which the clock on the wall and the monotonic clock
// have moved by durations of their own, as they do when a machine sleeps or
// somebody sets its clock.
func clocksAfter(t *testing.T, start time.Time, wall, monotonic time.Duration) time.Time {
	t.Helper()
	now := start.Add(wall) // moves both
	layout := (*struct {
		wall      uint64
		monotonic int64
		location  *time.Location
	})(unsafe.Pointer(&now)) //nolint:gosec // the package time has no other way to move one of them
	layout.monotonic += int64(monotonic - wall)
	if now.Sub(start) != monotonic || now.Round(0).Sub(start.Round(0)) != wall {
		t.Fatalf("the clocks moved by %s and %s, want %s and %s", now.Round(0).Sub(start.Round(0)), now.Sub(start), wall, monotonic)
	}
	return now
}

// A lease is held only while both clocks say so: one stands still while the
// machine sleeps, and anybody may set the other back.
func TestLeaseIsHeldByBothClocks(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for name, test := range map[string]struct {
		wall, monotonic time.Duration // since the last renewal
		held            bool
	}{
		"both just before the end":    {writesFor - 1, writesFor - 1, true},
		"the machine slept":           {3 * time.Hour, time.Second, false},
		"the clock was set forward":   {writesFor, time.Second, false},
		"the clock was set back":      {-time.Hour, writesFor, false},
		"set back, and just renewed":  {-time.Hour, time.Second, true},
		"set back a little, and late": {writesFor - 1, writesFor, false},
	} {
		l := &Lease{Clock: clocktesting.NewFakePassiveClock(clocksAfter(t, start, test.wall, test.monotonic))}
		l.renewedAt(start)
		if l.held() != test.held {
			t.Errorf("%s: held is %v, want %v", name, !test.held, test.held)
		}
	}
}

func TestDeadHolder(t *testing.T) {
	t.Parallel()
	self := ThisProcess("v1", leaserecord.Scope{Namespace: "a"})
	if self.Machine == "" || self.Holder == "" || self.User == "" || self.Host == "" {
		t.Fatalf("this process is %+v", self)
	}
	l := &Lease{Self: self}
	for name, test := range map[string]struct {
		change func(*leaserecord.Loop)
		dead   bool
	}{
		"this loop":               {func(*leaserecord.Loop) {}, false},
		"its parent, which lives": {func(o *leaserecord.Loop) { o.Holder, o.PID = "x", 1 }, false},
		"one of its number":       {func(o *leaserecord.Loop) { o.Holder = "x" }, true},
		"a number that is free":   {func(o *leaserecord.Loop) { o.Holder, o.PID = "x", 1<<30 }, true},
		"on another machine":      {func(o *leaserecord.Loop) { o.Holder, o.PID, o.Machine = "x", 1<<30, "other" }, false},
		"on nobody knows which":   {func(o *leaserecord.Loop) { o.Holder, o.PID, o.Machine = "x", 1<<30, "" }, false},
	} {
		other := self
		test.change(&other)
		if l.dead(other) != test.dead {
			t.Errorf("%s: dead is %v, want %v", name, !test.dead, test.dead)
		}
	}
}

// serverWith is an API server that has a lease in the namespace a, or none where that is
// nil.
func serverWith(t *testing.T, lease *coordinationv1.Lease) *apiserver.Server {
	t.Helper()
	s := apiserver.New(t)
	s.CreateYAML("{apiVersion: v1, kind: Namespace, metadata: {name: a}}")
	if lease != nil {
		s.Create(lease)
	}
	return s
}

func leaseOf(holder string, seconds, transitions int32) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "imoocpod-run-controller"}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: &holder, LeaseDurationSeconds: &seconds, LeaseTransitions: &transitions,
		RenewTime: new(metav1.NewMicroTime(time.Now().Add(1000 * time.Hour))),
	}}
}

// What somebody writes into a lease stops a loop for a bounded time.
func TestForeignLeaseIsBounded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lease                *coordinationv1.Lease
		seconds, transitions int
	}{
		"one of ours":              {leaseOf("other", 15, 3), 15, 3},
		"one that is given up":     {leaseOf("", 1, 3), 1, 3},
		"one that holds for ever":  {leaseOf("other", math.MaxInt32, 3), 60, 3},
		"one of negative duration": {leaseOf("other", -1, 3), 15, 3},
		"one without a duration":   {&coordinationv1.Lease{ObjectMeta: leaseOf("", 0, 0).ObjectMeta, Spec: coordinationv1.LeaseSpec{HolderIdentity: new("other")}}, 15, 0},
		"one of many holders":      {leaseOf("other", 15, math.MaxInt32), 15, 0},
		"one of negative holders":  {leaseOf("other", 15, -1), 15, 0},
	} {
		l := &lock{lease: leaseIn(t, serverWith(t, test.lease)), stop: func(error) {}}
		record, raw, err := l.Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if record.LeaseDurationSeconds != test.seconds || record.LeaderTransitions != test.transitions {
			t.Errorf("%s: %d seconds, %d transitions; want %d and %d", name, record.LeaseDurationSeconds, record.LeaderTransitions, test.seconds, test.transitions)
		}
		if again, err := json.Marshal(record); err != nil || string(again) != string(raw) {
			t.Errorf("%s: the record is %s, and compared as %s", name, again, raw)
		}
	}
}

// Whoever has the lease right at the start is told what is missing; who waited
// for it resumes.
func TestHoldResumes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lease   *coordinationv1.Lease
		resumed bool
	}{
		"a lease that is free":     {nil, false},
		"a lease that is given up": {leaseOf("", 1, 0), false},
		"a lease that runs out":    {leaseOf("other", 1, 0), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got bool
			l := leaseIn(t, serverWith(t, test.lease))
			if err := l.Hold(t.Context(), func(_ context.Context, resumed bool) error {
				got = resumed
				return nil
			}); err != nil || got != test.resumed {
				t.Errorf("it resumes: %v, error: %v", got, err)
			}
		})
	}
}

// leaseIn is the lease on a server, for a loop that is called self.
func leaseIn(t *testing.T, s *apiserver.Server) *Lease {
	t.Helper()
	client, err := coordinationv1client.NewForConfig(s.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return &Lease{Client: client, Log: func(string, ...any) {}, Self: leaserecord.Loop{Holder: "self", Scope: leaserecord.Scope{Namespace: "a"}}}
}

// stored is the holder of the lease on a server, and for how many seconds it is one.
func stored(s *apiserver.Server) (holder string, seconds int64) {
	lease := s.Get("leases", "a", "imoocpod-run-controller")
	holder, _, _ = unstructured.NestedString(lease.Object, "spec", "holderIdentity")
	seconds, _, _ = unstructured.NestedInt64(lease.Object, "spec", "leaseDurationSeconds")
	return holder, seconds
}

// A loop that is stopped renews its lease until its work is done, and gives it up
// then.
func TestLeaseIsHeldUntilTheWorkIsDone(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := serverWith(t, nil)
		l := leaseIn(t, s)
		s.OnWrite(func(c apiserver.Change) {
			if c.Resource.Resource != "leases" {
				return
			}
			if holder, _ := stored(s); holder == "" && l.held() {
				t.Error("the lease is given up, and writes are still let through")
			}
		})
		ctx, stop := context.WithCancel(t.Context())
		if err := l.Hold(ctx, func(working context.Context, _ bool) error {
			stop()
			<-working.Done()
			<-time.After(2 * leaseDuration) // the writes under way come to their end
			if holder, _ := stored(s); !l.held() || holder != "self" {
				t.Errorf("before the work was done: held is %v, and the lease is that of %q", l.held(), holder)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if holder, seconds := stored(s); l.held() || holder != "" || seconds != 1 {
			t.Errorf("after the work: held is %v, and the lease is that of %q for %d seconds", l.held(), holder, seconds)
		}
	})
}

// A loop that cannot renew its lease stops its work, and gives up what it has left
// of the lease when the work is done, not before.
func TestLeaseThatIsNotRenewedIsHeldUntilTheWorkIsDone(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := serverWith(t, nil)
		l := leaseIn(t, s)
		ctx, stop := context.WithCancel(t.Context())
		err := l.Hold(ctx, func(working context.Context, _ bool) error {
			repair := s.Fail(apiserver.Writes, apiserver.Fault{Err: apierrors.NewInternalError(errors.New("no leader"))})
			<-working.Done()
			repair()
			stop() // else it would wait for the lease again
			<-time.After(time.Second)
			if holder, _ := stored(s); holder != "self" {
				t.Errorf("before the work was done, the lease is that of %q", holder)
			}
			return nil
		})
		if !errors.Is(err, errLeaseLost) {
			t.Errorf("the work ended with %v, want %v", err, errLeaseLost)
		}
		if holder, _ := stored(s); holder != "" {
			t.Errorf("after the work, the lease is that of %q", holder)
		}
	})
}

// Only a lease that is still the loop's own is given up.
func TestRelease(t *testing.T) {
	t.Parallel()
	conflict := apierrors.NewConflict(coordinationv1.Resource("leases"), "a", errors.New("it has changed"))
	for name, test := range map[string]struct {
		known, stored string // the holder as last read or written, and as it is
		first         error  // of the first write
		writes        int
		holder        string // in the end
	}{
		"it is ours":                       {"self", "self", nil, 1, ""},
		"another has it":                   {"other", "other", nil, 0, "other"},
		"nobody has it":                    {"", "", nil, 0, ""},
		"ours, and renewed meanwhile":      {"self", "self", conflict, 2, ""},
		"another has taken it meanwhile":   {"self", "other", conflict, 1, "other"},
		"ours, and the server cannot tell": {"self", "self", apierrors.NewInternalError(errors.New("no leader")), 1, "self"},
	} {
		s := serverWith(t, leaseOf(test.stored, 15, 3))
		if test.first != nil {
			s.Fail(apiserver.Writes, apiserver.Fault{Err: test.first, Times: 1})
		}
		l := &lock{lease: leaseIn(t, s), object: leaseOf(test.known, 15, 3), led: true, stop: func(error) {}}
		l.release(t.Context())
		writes := len(s.Requests(apiserver.Writes))
		if holder, _ := stored(s); writes != test.writes || holder != test.holder {
			t.Errorf("%s: %d writes, and the lease is that of %q; want %d and %q", name, writes, holder, test.writes, test.holder)
		}
	}
}
