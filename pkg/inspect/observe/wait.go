package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
)

// Observation is a target as it was seen at a time.
type Observation struct {
	// Target has the object that was seen; nil, there is none.
	Target
	// Report is the model of it. Of what is not there, it says so.
	Report status.Report
	// Met says that it is as it was waited for.
	Met bool
	// Partial says that events or nodes are still being read, which may tell why it is not.
	Partial bool
	At      time.Time
	// GivesUp is when the wait for an object that has failed is over; zero where it has not
	// failed, or is waited for nevertheless.
	GivesUp time.Time

	// whole looks again, and waits for all that a partial look lacks.
	whole func(context.Context) (status.Report, error)
}

// differs reports whether an observation shows a person something else than another.
func (s Observation) differs(other Observation) bool {
	r, o := s.Report, other.Report
	return r.Verdict != o.Verdict || r.Reason != o.Reason || !equality.Semantic.DeepEqual(r.Replicas, o.Replicas)
}

// turned reports whether an observation shows more than that time has passed since
// another.
func (s Observation) turned(other Observation) bool {
	r, o := s.Report, other.Report
	return r.Verdict != o.Verdict || r.ReasonCode != o.ReasonCode || s.Partial != other.Partial || !equality.Semantic.DeepEqual(r.Replicas, o.Replicas)
}

// State says how the target is.
func (s Observation) State() string {
	if s.Report.ReasonCode == problem.CodeDeleted {
		return escape.Line(s.Report.Reason)
	}
	return escape.Line(fmt.Sprintf("%s: %s", s.Report.Verdict, s.Report.Reason))
}

// WaitTarget is one target and what is waited for of it.
type WaitTarget struct {
	Target Target
	// Conditions are waited for one after the other.
	Conditions []Condition
	// UID, if it is known, tells the object from another of its name; since is
	// the version of it that the wait begins with: older ones prove nothing.
	UID   types.UID
	Since string
	// Check, if there is one, is asked about each version of the object before any
	// condition. An error ends the wait.
	Check func(*unstructured.Unstructured) error
	// Reached, if there is one, is told when all conditions are.
	Reached func(Observation) error
}

// holds returns an error if the object is another one, or not as Check wants it.
func (w WaitTarget) holds(s Observation) error {
	switch {
	case s.Object == nil:
		return nil
	case w.UID != "" && s.Object.GetUID() != w.UID:
		return fmt.Errorf("%s was %w during the wait, and another object has its name", s.Target, outcome.ErrGone)
	case w.Check == nil:
		return nil
	}
	if err := w.Check(s.Object); err != nil {
		return fmt.Errorf("%s: %w", s.Target, err)
	}
	return nil
}

// Limits say how long a wait may take.
type Limits struct {
	// Timeout is the deadline, from the begin of the wait; zero is none.
	Timeout time.Duration
	// FailAfter is how long an object may have failed before the wait for it does.
	FailAfter time.Duration
	// FailFast says that it does at all.
	FailFast bool
	// Settle is how long the last condition must stay met.
	Settle time.Duration
	// Once is to look once, and not to wait.
	Once bool
}

// settle returns how long a condition must stay met.
func (l Limits) settle(isLast bool) time.Duration {
	if isLast {
		return l.Settle
	}
	return 0
}

// Waiter waits for several targets at the same time, under one deadline.
type Waiter struct {
	Clients *kube.Factory
	Limits  Limits
	// Show is told of every change, one at a time. It knows how to show it.
	Show func(Observation)
	// Connection, if there is one, is told whether the server is to be found.
	Connection *follow.Connection
	// Closely says that it is told of every look, and that looks see what stands
	// against the object, too.
	Closely bool

	showing sync.Mutex
	feeds   *feeds
	// brief says that what stands below an object that says of itself that it is ready
	// is not looked at, where that word can be relied on.
	brief bool
}

// Wait waits until all conditions are met. The errors are those of the targets, in their
// order, and nil of those whose conditions are met. One error is about no target where
// nothing could be waited for.
func (a *Waiter) Wait(ctx context.Context, all []WaitTarget) []error {
	var followed sync.WaitGroup
	defer followed.Wait()
	following, stop := context.WithCancel(ctx) // beyond the deadline: see explain
	defer stop()
	if a.Limits.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, a.Limits.Timeout, outcome.ErrTimeout)
		defer cancel()
	}
	var err error
	if a.feeds, err = newFeeds(following, a.Clients, a.Connection, &followed, len(all) > 1); err != nil {
		return []error{err} // which is not about any object
	}
	errs := make([]error, len(all))
	var running sync.WaitGroup
	for i, w := range all {
		running.Go(func() { errs[i] = kube.Explain(w.Target.Kind, a.waitOne(ctx, w)) })
	}
	running.Wait()
	return errs
}

// waitOne waits until the conditions of one target are met, one after the other.
func (a *Waiter) waitOne(ctx context.Context, w WaitTarget) error {
	var last Observation
	for i, g := range w.Conditions {
		var err error
		if last, err = a.waitCondition(ctx, w, g, i == len(w.Conditions)-1); err != nil {
			return err
		}
	}
	if w.Reached == nil {
		return nil
	}
	a.showing.Lock()
	defer a.showing.Unlock()
	return w.Reached(last)
}

// waitCondition waits until one condition of a target is met, and returns how the target
// was seen then.
func (a *Waiter) waitCondition(ctx context.Context, w WaitTarget, g Condition, isLast bool) (Observation, error) {
	grace := status.FailureGrace{For: a.Limits.FailAfter, Endless: !a.Limits.FailFast || !g.FailsFast}
	var last, told *Observation
	held, unexplained := steady{wanted: a.Limits.settle(isLast)}, steady{wanted: explaining}
	err := a.watch(ctx, w, g, func(s Observation) (bool, time.Duration, error) {
		if err := w.holds(s); err != nil {
			return false, 0, err
		}
		met, err := g.Met(ctx, s)
		met, left := held.look(met && !s.Partial, s.At)
		s.Met = met && isLast
		_, wait := unexplained.look(s.Partial, s.At)
		over, again := grace.Look(s.Report, s.At)
		if again > 0 {
			s.GivesUp = s.At.Add(again)
		}
		if wait == 0 && (told == nil || met || a.Closely || s.differs(*told)) {
			a.tell(s)
			told = &s
		}
		last = &s
		switch {
		case met || err != nil:
			return met, 0, err
		case a.Limits.Once:
			return false, 0, outcome.ErrTimeout
		}
		if s.Report.Verdict == status.Paused && !s.Partial && !grace.Endless && (!g.CountOnly || !s.Report.Counts) {
			return false, 0, &FailedError{s, outcome.ErrPaused}
		}
		if over && !s.Partial {
			return false, 0, &FailedError{s, outcome.ErrFailed}
		}
		switch {
		case left > 0:
			again = left
		case wait > 0:
			again = wait
		case again != 0 || !g.Tree:
		case doubtful(s.Report.ReasonCode):
			again = follow.Pause
		default:
			again = s.Report.Recheck
		}
		return false, again, nil
	})
	if err == nil {
		return *last, nil
	}
	return Observation{}, notMet(ctx, w, g, last, err)
}

// notMet is the error for a condition that was not met, with the last observation, if there
// was one.
func notMet(ctx context.Context, w WaitTarget, g Condition, last *Observation, err error) error {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = outcome.ErrInterrupted
	}
	switch {
	case errors.Is(err, outcome.ErrOverwritten), errors.Is(err, outcome.ErrGone), apierrors.IsNotFound(err):
		return err // it says which object, and what of it
	case errors.Is(err, outcome.ErrFailed), errors.Is(err, outcome.ErrPaused):
	case errors.Is(err, outcome.ErrTimeout), errors.Is(err, outcome.ErrInterrupted):
		seen := "nothing"
		if last != nil {
			if errors.Is(err, outcome.ErrTimeout) {
				explain(ctx, last)
			}
			seen = last.State()
		}
		err = fmt.Errorf("wait for %s %s: %w; last seen: %s", w.Target, g.What, err, seen)
	default:
		return fmt.Errorf("wait for %s %s: %w", w.Target, g.What, err)
	}
	if last != nil {
		err = outcome.WithAdvice(err, last.Report.Hint)
	}
	return err
}

// explaining is for how long nothing is shown of a target while what may tell why it is
// not ready is being read, and how late a wait may end because of that.
const explaining = time.Second

// explain adds to the last observation before a time-out why the target is not ready,
// where that was still being read.
func explain(ctx context.Context, last *Observation) {
	if !last.Partial {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), explaining)
	defer cancel()
	if r, err := last.whole(ctx); err == nil {
		last.Report = r
	}
}

// steady is how long a condition has been met without a break.
type steady struct {
	wanted time.Duration
	// since is the first time of the present run; zero, it is not met.
	since time.Time
}

// look takes in whether the condition is met now. It reports whether it has been for as
// long as is wanted, and otherwise how much of that is left; zero where it is not met.
func (h *steady) look(met bool, now time.Time) (done bool, left time.Duration) {
	if !met {
		h.since = time.Time{}
		return false, 0
	}
	if h.since.IsZero() {
		h.since = now
	}
	left = max(0, h.wanted-now.Sub(h.since))
	return left == 0, left
}

// FailedError says why an object will not become ready without help.
type FailedError struct {
	Observation
	// Err is outcome.ErrFailed or outcome.ErrPaused.
	Err error
}

func (e *FailedError) Error() string {
	verb := "has"
	if errors.Is(e.Err, outcome.ErrPaused) {
		verb = "is"
	}
	return fmt.Sprintf("%s %s %s: %s", e.Target, verb, e.Err, printer.Failure(e.Report, e.At))
}

// Unwrap returns Err.
func (e *FailedError) Unwrap() error { return e.Err }

// doubtful reports whether what a verdict rests on is about objects that no watch
// tells of: those are looked at again soon.
func doubtful(code problem.Code) bool {
	return slices.Contains([]problem.Code{
		problem.CodeChildNotReady, problem.CodeStatusBehind, problem.CodeChangeNotSeen, problem.CodeCannotTell, problem.CodeConditionFalse,
	}, code)
}

func (a *Waiter) tell(s Observation) {
	if a.Show == nil {
		return
	}
	a.showing.Lock()
	defer a.showing.Unlock()
	a.Show(s)
}
