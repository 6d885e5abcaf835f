package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// A condition must be met for long enough. An interruption restarts the clock.
func TestSteady(t *testing.T) {
	t.Parallel()
	begun := time.Unix(1000, 0)
	s := steady{wanted: 30 * time.Second}
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
		done, left := s.look(look.met, begun.Add(time.Duration(look.at)*time.Second))
		if done != look.done || left != time.Duration(look.left)*time.Second {
			t.Errorf("after %d s: done = %t, %s left", look.at, done, left)
		}
	}
	if done, _ := (&steady{}).look(true, begun); !done {
		t.Error("a condition without a settle time is not met at once")
	}
}

// limits returns the limits of a wait that gives up on a failed object.
func limits(timeout, failAfter time.Duration) Limits {
	return Limits{Timeout: timeout, FailAfter: failAfter, FailFast: true}
}

// waitFor starts a wait for conditions of a single target. The result of the wait is the error of that target.
func (s *server) waitFor(t *testing.T, w *Waiter, target Target, all ...Condition) *waiting {
	t.Helper()
	w.Clients = s.clients()
	return begin(func() error { return w.Wait(t.Context(), []WaitTarget{{Target: target, Conditions: all}})[0] })
}

// broken returns a pod that cannot start.
func broken(t *testing.T, number int) *unstructured.Unstructured {
	t.Helper()
	waits := []any{map[string]any{"name": "main", "state": map[string]any{"waiting": map[string]any{"reason": "InvalidImageName", "message": "it is no name"}}}}
	return set(t, podOf(t, "web-1", number, false), waits, "status", "containerStatuses")
}

// readyAll makes the second pod, the ReplicaSet, and the Deployment ready.
func (s *server) readyAll(t *testing.T) {
	t.Helper()
	s.put(podOf(t, "web-1", 1, true))
	s.put(replicaSet(t, "web-1", 2, 2))
	s.put(deployment(t, 2, 2))
}

func always() Condition {
	return Condition{What: "to be", Met: func(Observation) (bool, error) { return true, nil }}
}

func never() Condition {
	return Condition{What: "to be otherwise", Tree: true, FailsFast: true, Met: func(Observation) (bool, error) { return false, nil }}
}

const notReady = "progressing: 1 of 2 pods ready"

// A wait ends at its timeout, and the error contains the last observation, if any.
func TestWaitTimesOut(t *testing.T) {
	t.Parallel()
	missing := Target{Kind: deployments(), Namespace: "ns", Name: "new"}
	for what, test := range map[string]struct {
		limits    Limits
		target    Target
		condition Condition
		delay     time.Duration // of each response
		after     time.Duration // the wait must be over at this time
		goal      string
		seen      string
	}{
		"nothing seen":                  {Limits{Timeout: 10 * time.Second}, web(), Ready(), time.Hour, 10 * time.Second, "to be ready", "nothing"},
		"not ready":                     {Limits{Timeout: time.Minute}, web(), Ready(), 0, time.Minute, "to be ready", notReady},
		"does not exist":                {Limits{Timeout: time.Minute}, missing, Created(), 0, time.Minute, "to be created", "it does not exist"},
		"a single look":                 {Limits{Once: true}, web(), Ready(), 0, 0, "to be ready", notReady},
		"a single look, with a timeout": {Limits{Once: true, Timeout: time.Minute}, web(), Gone(), 0, 0, "to be gone", "it is not being deleted"},
	} {
		bubble.Test(t, func(t *testing.T) {
			s := serveWeb(t, 1)
			s.delay("* *", test.delay)
			w := s.waitFor(t, &Waiter{Limits: test.limits}, test.target, test.condition)
			if test.after > 0 {
				pass(test.after - 2*time.Second)
				if w.over() {
					t.Fatalf("%s: the wait ended too soon: %v", what, w.err)
				}
				pass(time.Second)
			}
			want := fmt.Sprintf("wait for %s %s: timed out; last seen: %s", test.target, test.goal, test.seen)
			if !w.over() || !errors.Is(w.err, outcome.ErrTimeout) || w.err.Error() != want {
				t.Errorf("%s: wait ended = %t, error %v, want %s", what, w.over(), w.err, want)
			}
		})
	}
}

// If both Limits.FailFast and Condition.FailsFast are set, a wait ends when the object has failed for long enough, and
// the error describes the failure. Observations of the failed object contain the time at which such a wait gives up.
func TestWaitForFailedObject(t *testing.T) {
	t.Parallel()
	gentle := Ready()
	gentle.FailsFast = false
	for what, test := range map[string]struct {
		limits    Limits
		condition Condition
		ends      bool
	}{
		"with FailFast":                     {limits(0, 5*time.Second), Ready(), true},
		"without FailFast":                  {Limits{FailAfter: 5 * time.Second}, Ready(), false},
		"for a condition without FailsFast": {limits(0, 5*time.Second), gentle, false},
	} {
		bubble.Test(t, func(t *testing.T) {
			s := serveWeb(t, 1)
			s.put(broken(t, 1))
			var givesUp time.Time
			if test.ends {
				givesUp = time.Now().Add(5 * time.Second)
			}
			var shown Observation
			w := s.waitFor(t, &Waiter{Limits: test.limits, Show: func(o Observation) { shown = o }}, web(), test.condition)
			if shown.Report.Verdict != status.Failed || !shown.GivesUp.Equal(givesUp) {
				t.Errorf("%s: observed %s, GivesUp = %s, want %s", what, shown.State(), shown.GivesUp, givesUp)
			}
			pass(3 * time.Second)
			if w.over() {
				t.Fatalf("%s: the wait ended within the grace period: %v", what, w.err)
			}
			pass(2 * time.Second) // less than the backstop
			var failed *FailedError
			if w.over() != test.ends || test.ends && (!errors.Is(w.err, outcome.ErrFailed) || !errors.As(w.err, &failed)) {
				t.Fatalf("%s: after the grace period: wait ended = %t, error %v", what, w.over(), w.err)
			}
			if test.ends && (failed.Report.Metadata.Name != "web" || failed.Report.Verdict != status.Failed || !strings.HasPrefix(w.err.Error(), "deployment/web has failed: pod web-1-1: ")) {
				t.Errorf("%s: the error does not describe the failed pod: %v", what, w.err)
			}
			s.readyAll(t)
			pass(time.Second)
			if !w.over() || !test.ends && w.err != nil {
				t.Errorf("%s: the pods are ready, and the wait has not ended without an error: %v", what, w.err)
			}
		})
	}
}

// A wait that gives up on failures ends when the object is paused, but not if the condition can be
// met during the pause.
func TestWaitForPausedObject(t *testing.T) {
	t.Parallel()
	count := Scaled(2, true)
	paused := func(t *testing.T, s *server, ready int) { // scaling continues while the rollout is paused
		t.Helper()
		obj := set(t, deployment(t, 2, ready), true, "spec", "paused")
		set(t, obj, []any{map[string]any{"name": "main", "image": "web"}}, "spec", "template", "spec", "containers")
		s.put(set(t, obj, int64(1), "status", "updatedReplicas"))
	}
	for what, test := range map[string]struct {
		limits    Limits
		condition Condition
		paused    bool
	}{
		"ready, with FailFast":          {limits(0, 0), Ready(), true},
		"ready, without FailFast":       {Limits{}, Ready(), false},
		"scaled, with FailFast":         {limits(0, 0), count, false},
		"a condition without FailsFast": {limits(0, 0), Condition{Tree: true, Met: Ready().Met}, false},
	} {
		bubble.Test(t, func(t *testing.T) {
			s := serveWeb(t, 1)
			paused(t, s, 1)
			w := s.waitFor(t, &Waiter{Limits: test.limits}, web(), test.condition)
			if w.over() != test.paused || test.paused && (!errors.Is(w.err, outcome.ErrPaused) || !strings.HasPrefix(w.err.Error(), "deployment/web is paused: ")) {
				t.Fatalf("%s: while paused: wait ended = %t, error %v", what, w.over(), w.err)
			}
			s.readyAll(t)
			if pass(time.Second); !w.over() || !test.paused && w.err != nil {
				t.Errorf("%s: the pods are ready, and the wait has not ended without an error: %v", what, w.err)
			}
		})
	}
	// A pause of the whole object stops scaling, too.
	bubble.Test(t, func(t *testing.T) {
		s := serveFoo(t, 1)
		obj := imoocPod(t, 2, 1)
		obj.SetAnnotations(map[string]string{apis.AnnotationPausedUntil: "2000-01-01T01:00:00Z"})
		s.put(obj)
		w := s.waitFor(t, &Waiter{Limits: limits(0, 0)}, foo(), count)
		if !w.over() || !errors.Is(w.err, outcome.ErrPaused) {
			t.Errorf("the whole object is paused: wait ended = %t, error %v, want ErrPaused", w.over(), w.err)
		}
	})
}

// The conditions of a wait must be met one after the other. Only the last condition marks an observation as met.
func TestWaitForConditionsInOrder(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := newServer(t)
		var met []string
		var reached Observation
		waiter := &Waiter{Clients: s.clients(), Show: func(o Observation) {
			met = append(met, fmt.Sprint(o.Report.Verdict, " ", o.Met))
			reached = o
		}}
		w := begin(func() error {
			return waiter.Wait(t.Context(), []WaitTarget{{Target: web(), Conditions: []Condition{Created(), Ready(), Gone()}}})[0]
		})
		s.put(deployment(t, 0, 0))
		pass(time.Second)
		if w.over() {
			t.Errorf("the wait ended before its last condition was met: %v", w.err)
		}
		s.remove(deployment(t, 0, 0))
		pass(time.Second)
		if !w.over() || w.err != nil || !reached.Met || reached.Report.Verdict != status.Deleted {
			t.Errorf("after the last condition: wait ended = %t, error %v, observation %+v", w.over(), w.err, reached)
		}
		if want := []string{"deleted false", "ready false", "ready false", "ready false", "deleted true"}; !slices.Equal(met, want) {
			t.Errorf("shown = %q, want %q", met, want)
		}
	})
}

// If Settle is set, the last condition of a wait must remain met for that time. An interruption restarts the time.
func TestWaitSettles(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := serveWeb(t, 2)
		w := s.waitFor(t, &Waiter{Limits: Limits{Settle: 7 * time.Second}}, web(), Ready())
		pass(5 * time.Second)
		s.put(deployment(t, 2, 1))
		pass(time.Second)
		s.put(deployment(t, 2, 2))
		pass(6 * time.Second)
		if w.over() {
			t.Errorf("the wait ended before the settle time was over: %v", w.err)
		}
		if pass(2 * time.Second); !w.over() || w.err != nil {
			t.Errorf("after the settle time: wait ended = %t, error %v", w.over(), w.err)
		}
	})
}

// Ctrl-C may end a request before it ends the context of the wait, because they are siblings.
func TestWaitWithACanceledRequest(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := serveWeb(t, 1)
		canceled := func(*unstructured.Unstructured) error { return context.Canceled }
		w := &Waiter{Clients: s.clients(), Limits: Limits{Timeout: time.Minute}}
		errs := w.Wait(t.Context(), []WaitTarget{{Target: web(), Conditions: []Condition{Ready()}, Check: canceled}})
		if !errors.Is(errs[0], outcome.ErrInterrupted) {
			t.Errorf("error = %v, want ErrInterrupted", errs[0])
		}
	})
}

// The errors of a wait have the order of its targets. Targets in the same namespace share their lists and watches.
func TestWaitForSeveral(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := serveWeb(t, 1)
		s.put(namedDeployment(t, "zero", 0))
		for i := range 3 {
			other := podOf(t, "other", i, true)
			other.SetLabels(map[string]string{"app": "other"})
			s.put(other)
		}
		named := func(name string) Target { return Target{Kind: deployments(), Namespace: "ns", Name: name} }
		w := &Waiter{Clients: s.clients(), Limits: Limits{Timeout: time.Minute}}
		errs := w.Wait(t.Context(), []WaitTarget{
			{Target: named("web"), Conditions: []Condition{Ready()}},
			{Target: named("zero"), Conditions: []Condition{always()}},
			{Target: named("none"), Conditions: []Condition{Ready()}},
		})
		if len(errs) != 3 || !errors.Is(errs[0], outcome.ErrTimeout) || errs[1] != nil || !apierrors.IsNotFound(errs[2]) || strings.HasPrefix(errs[2].Error(), "wait for") {
			t.Errorf("errors = %v, want ErrTimeout, nil, and NotFound", errs)
		}
		if s.count("list pods") != 1 || !s.selected("list pods", "") {
			t.Errorf("%d list requests for pods, want 1 without a selector", s.count("list pods"))
		}
	})
}

// Failed is called for an object as soon as the object has failed, even if others are not ready yet.
func TestWaitReportsEachFailure(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := serveWeb(t, 1)
		s.put(broken(t, 1))
		s.put(namedDeployment(t, "zero", 0))
		calls := make(chan string, 10)
		note := func(who string) func(error) error {
			return func(err error) error {
				calls <- who
				return fmt.Errorf("%w, %s", err, who)
			}
		}
		w := &Waiter{Clients: s.clients(), Limits: limits(time.Minute, 5*time.Second), Failed: note("any")}
		var errs []error
		all := begin(func() error {
			errs = w.Wait(t.Context(), []WaitTarget{
				{Target: web(), Conditions: []Condition{Ready()}, Failed: note("web")},
				{Target: Target{Kind: deployments(), Namespace: "ns", Name: "zero"}, Conditions: []Condition{never()}},
			})
			return nil
		})
		if pass(6 * time.Second); all.over() || len(calls) != 2 || <-calls != "any" || <-calls != "web" {
			t.Errorf("after the grace period: all waits ended = %t, or Failed was not called twice", all.over())
		}
		if pass(time.Minute); !errors.Is(errs[0], outcome.ErrFailed) || !strings.HasSuffix(errs[0].Error(), ", any, web") || !errors.Is(errs[1], outcome.ErrTimeout) {
			t.Errorf("errors = %v", errs)
		}
	})
}

// Show is called for each change or, if Closely is set, for each observation.
func TestWaitShows(t *testing.T) {
	t.Parallel()
	for _, closely := range []bool{false, true} {
		bubble.Test(t, func(t *testing.T) {
			s := serveWeb(t, 1)
			var shown atomic.Int64
			w := s.waitFor(t, &Waiter{Closely: closely, Limits: limits(2*time.Minute, 0), Show: func(Observation) { shown.Add(1) }}, web(), never())
			if n := shown.Swap(0); n < 1 || n > 1 && !closely {
				t.Errorf("Closely = %t: shown %d times at first, want 1, or more if Closely", closely, n)
			}
			s.put(deployment(t, 2, 1)) // the report does not change
			pass(time.Second)
			if n, want := shown.Load(), map[bool]int64{false: 0, true: 1}[closely]; n != want {
				t.Errorf("Closely = %t: shown %d times after a change that no report shows, want %d", closely, n, want)
			}
			s.put(deployment(t, 3, 1))
			pass(time.Second)
			if n, want := shown.Swap(0), map[bool]int64{false: 1, true: 2}[closely]; n != want {
				t.Errorf("Closely = %t: shown %d times after a change of the report, want %d", closely, n, want)
			}
			// Without a change, the backstop causes one more observation.
			pass(backstop)
			if n := shown.Load(); closely && n != 1 {
				t.Errorf("Closely = true: shown %d times after a time without changes, want 1", n)
			}
			pass(2 * time.Minute)
			if !w.over() {
				t.Error("the wait has not ended after its timeout")
			}
		})
	}
}

// An object with a doubtful verdict is checked again soon, because no watch event reports when the doubt ends.
func TestWaitRechecksDoubtfulVerdict(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		condition Condition
		settle    time.Duration
		doubt     bool
		looks     int64
	}{
		"a doubtful verdict":                    {never(), 0, true, 10},
		"a certain verdict":                     {never(), 0, false, 0},
		"a condition that ignores the children": {Condition{Met: never().Met}, 0, true, 0},
		"a condition with a settle time":        {Condition{Tree: true, Met: always().Met}, 4 * time.Second, false, 1},
	} {
		bubble.Test(t, func(t *testing.T) {
			s := serveWeb(t, 1)
			if test.doubt { // the Deployment counts two ready pods, but only one is ready
				s.put(deployment(t, 2, 2))
			}
			var looks atomic.Int64
			limits := limits(20*time.Second, 0)
			limits.Settle = test.settle
			s.waitFor(t, &Waiter{Closely: true, Limits: limits, Show: func(o Observation) {
				looks.Add(1)
				if test.condition.Tree && (o.recheck() == follow.Pause) != test.doubt {
					t.Errorf("%s: no early recheck of a doubtful verdict, or one of a certain verdict: %q", what, o.Report.Reason)
				}
			}}, web(), test.condition)
			looks.Store(0)
			pass(10 * time.Second)
			if n := looks.Load(); n != test.looks {
				t.Errorf("%s: %d observations, want %d", what, n, test.looks)
			}
			pass(time.Minute)
		})
	}
}

// differs compares the text of the reason. turned compares its code and, if only one observation is partial, the text.
// A crashed container has recovered after a minute. No watch event reports this, so a wait looks again before the
// failure is final.
func TestWaitSeesRecovery(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := serveWeb(t, 1)
		w := s.waitFor(t, &Waiter{Limits: limits(5*time.Minute, 10*time.Minute)}, web(), Ready())
		at := time.Now().UTC().Format(time.RFC3339)
		crash := map[string]any{"exitCode": int64(1), "startedAt": at, "finishedAt": at}
		s.put(set(t, podOf(t, "web-1", 1, true), []any{map[string]any{"name": "main", "ready": true, "restartCount": int64(2),
			"state": map[string]any{"running": map[string]any{"startedAt": at}}, "lastState": map[string]any{"terminated": crash}}}, "status", "containerStatuses"))
		s.put(replicaSet(t, "web-1", 2, 2))
		s.put(deployment(t, 2, 2))
		pass(time.Minute + backstop + time.Second)
		if !w.over() || w.err != nil {
			t.Errorf("the container recovered: the wait ended = %t, error %v", w.over(), w.err)
		}
	})
}

func TestObservationsDiffer(t *testing.T) {
	t.Parallel()
	report := status.Report{Verdict: status.Progressing, ReasonCode: problem.CodePodsStarting, Reason: "1 of 2 pods ready", Replicas: status.Replicas{Desired: 2, Ready: 1}}
	for what, test := range map[string]struct {
		change          func(*status.Report)
		differs, turned bool
	}{
		"no change":              {func(*status.Report) {}, false, false},
		"the verdict":            {func(r *status.Report) { r.Verdict = status.Failed }, true, true},
		"the text of the reason": {func(r *status.Report) { r.Reason += " for 5s" }, true, false},
		"the reason code":        {func(r *status.Report) { r.ReasonCode = problem.CodePodsMissing }, false, true},
		"a count":                {func(r *status.Report) { r.Replicas.Ready = 2 }, true, true},
		"the pods":               {func(r *status.Report) { r.Pods = []problem.Pod{{}} }, false, false},
	} {
		other := report
		test.change(&other)
		a, b := Observation{Report: report}, Observation{Report: other}
		if a.differs(b) != test.differs || a.turned(b) != test.turned || b.differs(a) != test.differs || b.turned(a) != test.turned {
			t.Errorf("%s: differs = %t, turned = %t", what, a.differs(b), a.turned(b))
		}
	}
	partial, same := Observation{Report: report, Partial: true}, Observation{Report: report}
	more := same
	more.Report.Reason += "; no node fits"
	if partial.turned(same) || !partial.turned(more) {
		t.Error("partial observation: turned must be false for the same reason, and true for a longer one")
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		report status.Report
		want   string
	}{
		{status.Report{Verdict: status.Failed, Reason: "it is\nodd"}, "failed: it is odd"},
		{status.Report{Verdict: status.Failed, Reason: "it is odd", Hint: "look\nat it"}, "failed: it is odd"},
		{status.Report{Verdict: status.Deleted, ReasonCode: problem.CodeDeleted, Reason: "it is gone", Hint: "make it"}, "it is gone"},
	} {
		if got := (Observation{Report: test.report}).State(); got != test.want {
			t.Errorf("State() of %+v = %q, want %q", test.report, got, test.want)
		}
	}
}

func (s *server) deployments(t *testing.T) dynamic.ResourceInterface {
	t.Helper()
	return web().Resource(s.clients().Dynamic)
}

type waiting struct {
	ended chan struct{}
	// at is when the wait ended, or zero.
	at  time.Time
	err error
}

// begin starts a wait, and returns one second later.
func begin(wait func() error) *waiting {
	w := &waiting{ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		w.err = wait()
		w.at = time.Now()
	}()
	pass(time.Second)
	return w
}

func (w *waiting) over() bool {
	synctest.Wait()
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

// WaitForObject returns when done returns true or an error, after the timeout, when the context ends,
// or when the server rejects a request.
func TestWaitForObjectEnds(t *testing.T) {
	t.Parallel()
	odd, stopped := errors.New("it is odd"), errors.New("somebody has stopped it")
	never := func(*unstructured.Unstructured) (bool, error) { return false, nil }
	for what, test := range map[string]struct {
		done   func(*unstructured.Unstructured) (bool, error)
		change func(s *server, stop context.CancelCauseFunc)
		is     func(error) bool
	}{
		"at once":               {func(obj *unstructured.Unstructured) (bool, error) { return obj != nil, nil }, nil, func(err error) bool { return err == nil }},
		"with an error":         {func(*unstructured.Unstructured) (bool, error) { return false, odd }, nil, func(err error) bool { return errors.Is(err, odd) }},
		"after the timeout":     {never, nil, func(err error) bool { return errors.Is(err, outcome.ErrTimeout) }},
		"when the context ends": {never, func(_ *server, stop context.CancelCauseFunc) { stop(stopped) }, func(err error) bool { return errors.Is(err, stopped) }},
		"when a watch is forbidden": {never, func(s *server, _ context.CancelCauseFunc) {
			s.forbid("watch deployments")
			s.EndWatches("", nil)
		}, apierrors.IsForbidden},
	} {
		bubble.Test(t, func(t *testing.T) {
			s := serveWeb(t, 2)
			ctx, stop := context.WithCancelCause(t.Context())
			w := begin(func() error { return WaitForObject(ctx, s.deployments(t), "web", time.Minute, test.done) })
			if test.change != nil {
				test.change(s, stop)
			}
			pass(58 * time.Second)
			if timeout := what == "after the timeout"; w.over() == timeout {
				t.Errorf("%s: just before the timeout: wait ended = %t, error %v", what, w.over(), w.err)
			}
			pass(time.Second)
			if !w.over() || !test.is(w.err) {
				t.Errorf("%s: in the end: wait ended = %t, error %v", what, w.over(), w.err)
			}
			stop(nil)
		})
	}
}

// If the timeout is reached during a request, the error is ErrTimeout.
func TestWaitForObjectTimesOutDuringRequest(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := serveWeb(t, 2)
		s.delay("* *", time.Minute)
		w := begin(func() error {
			return WaitForObject(t.Context(), s.deployments(t), "web", 10*time.Second, func(*unstructured.Unstructured) (bool, error) { return false, nil })
		})
		if pass(10 * time.Second); !w.over() || w.err != outcome.ErrTimeout { //nolint:errorlint // the error is not wrapped
			t.Errorf("wait ended = %t, error %v, want ErrTimeout", w.over(), w.err)
		}
	})
}

// WaitUntilGone ignores another object with the same name. After a timeout, the error names the finalizers
// that block the deletion.
func TestWaitUntilGone(t *testing.T) {
	t.Parallel()
	const still = "wait for deployment.apps/web to be gone: timed out; last seen: "
	changed := func(change func(*unstructured.Unstructured)) func(*server) {
		return func(s *server) {
			obj := s.List("deployments", "ns")[0].DeepCopy()
			change(obj)
			s.put(obj)
		}
	}
	for what, test := range map[string]struct {
		change func(*server)
		want   string
	}{
		"the object is deleted":         {func(s *server) { s.remove(s.List("deployments", "ns")[0]) }, ""},
		"another object takes the name": {changed(func(obj *unstructured.Unstructured) { obj.SetUID("another") }), ""},
		"the object stays":              {func(*server) {}, still + "it still exists"},
		"finalizers block the deletion": {changed(func(obj *unstructured.Unstructured) { obj.SetFinalizers([]string{"example.com/a", "example.com/b"}) }),
			still + "it still has the finalizers example.com/a, example.com/b"},
		"reading becomes forbidden": {func(s *server) { s.forbid("watch deployments"); s.EndWatches("", nil) },
			"wait for deployment.apps/web to be gone: deployments.apps is forbidden"},
	} {
		bubble.Test(t, func(t *testing.T) {
			s := serveWeb(t, 2)
			w := begin(func() error { return WaitUntilGone(t.Context(), s.deployments(t), deployment(t, 2, 2), time.Minute) })
			if w.over() {
				t.Errorf("%s: the wait ended before the change: %v", what, w.err)
			}
			test.change(s)
			pass(time.Minute)
			if !w.over() || (w.err == nil) != (test.want == "") || w.err != nil && !strings.HasPrefix(w.err.Error(), test.want) {
				t.Errorf("%s: wait ended = %t, error %v, want %q", what, w.over(), w.err, test.want)
			}
		})
	}
}
