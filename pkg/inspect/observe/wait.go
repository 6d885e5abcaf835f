package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/grace"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// WaitTarget is a target and the conditions to wait for.
type WaitTarget struct {
	Target Target
	// Conditions must be met one after the other.
	Conditions []Condition
	// UID, if set, identifies the object. Another object with the same name is treated as missing.
	UID types.UID
	// Check, if set, is called with each observed version of the object. An error ends the wait.
	Check func(*unstructured.Unstructured) error
	// Reached, if set, is called when all conditions are met.
	Reached func(Observation) error
}

// holds returns an error if the UID of the object differs from w.UID, or if Check fails.
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

// Limits determine when a wait ends.
type Limits struct {
	Timeout   time.Duration // the maximum duration of the whole wait; zero means no timeout
	FailAfter time.Duration // how long an object may stay failed before the wait gives up
	FailFast  bool          // give up on a failed or paused object before the timeout
	Settle    time.Duration // how long the last condition must remain met
	Once      bool          // check the conditions once, without waiting
}

// Waiter waits for several targets at the same time, under one deadline.
type Waiter struct {
	Clients *kube.Clients
	Limits  Limits
	// Show, if set, is called for each change. Calls do not overlap.
	Show func(Observation)
	// Connection, if set, records whether the server can be reached.
	Connection *follow.Connection
	// Closely means that Show is called for every observation, and that observations include autoscalers and
	// disruption budgets.
	Closely bool

	showing sync.Mutex
}

// Wait waits until the conditions of all targets are met. It returns an error or nil for each target, in the
// order of the targets.
func (a *Waiter) Wait(ctx context.Context, all []WaitTarget) []error {
	// The feeds must outlive the deadline, because explain still uses them.
	f := NewFollower(ctx, a.Clients, a.Connection, Extent{Depth: Reasons, Competitors: a.Closely}, len(all) > 1, a.Closely)
	defer f.Stop()
	f.patient = a.Limits.Once
	if a.Limits.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, a.Limits.Timeout, outcome.ErrTimeout)
		defer cancel()
	}
	errs := make([]error, len(all))
	var running sync.WaitGroup
	for i, w := range all {
		running.Go(func() { errs[i] = kube.Explain(w.Target.Kind, a.waitOne(ctx, f, w)) })
	}
	running.Wait()
	return errs
}

// waitOne waits for the conditions of a target, one after the other, and then calls Reached.
func (a *Waiter) waitOne(ctx context.Context, f *Follower, w WaitTarget) error {
	var last Observation
	for i, g := range w.Conditions {
		var err error
		if last, err = a.waitCondition(ctx, f, w, g, i == len(w.Conditions)-1); err != nil {
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

// waitCondition waits until one condition of a target is met, and returns the last observation.
func (a *Waiter) waitCondition(ctx context.Context, f *Follower, w WaitTarget, g Condition, isLast bool) (Observation, error) {
	period := grace.Period{For: a.Limits.FailAfter, Endless: !a.Limits.FailFast || !g.FailsFast}
	var last, shown *Observation
	seen := false
	var held steady
	if isLast {
		held.wanted = a.Limits.Settle
	}
	unexplained := steady{wanted: explaining}
	err := f.watch(ctx, w, g, func(s Observation) (bool, time.Duration, error) {
		if err := w.holds(s); err != nil {
			return false, 0, err
		}
		met, err := g.met(s, seen)
		seen = seen || s.Object != nil
		met, left := held.look(met && !s.Partial, s.At)
		s.Met = met && isLast
		_, wait := unexplained.look(s.Partial, s.At)
		over, again := period.Look(s.Report, s.At)
		if again > 0 {
			s.GivesUp = s.At.Add(again)
		}
		if wait == 0 && (shown == nil || met || a.Closely || s.differs(*shown)) {
			a.tell(s)
			shown = &s
		}
		last = &s
		if met || err != nil {
			return met, 0, err
		}
		if err := givesUp(s, g, period.Endless, over); err != nil {
			return false, 0, err
		}
		if a.Limits.Once {
			return false, 0, outcome.ErrTimeout
		}
		if again == 0 && g.Tree {
			again = s.recheck()
		}
		return false, cmp.Or(left, wait, again), nil
	})
	if err == nil {
		return *last, nil
	}
	return Observation{}, notMet(ctx, w, g, last, err)
}

// givesUp returns an error if a complete observation ends the wait before its timeout. over means that the
// object has failed for too long. endless means that neither a failure nor a pause ends the wait. A pause
// does not end a wait for a count that takes effect despite the pause.
func givesUp(s Observation, g Condition, endless, over bool) error {
	switch {
	case s.Partial:
		return nil
	case s.Report.Verdict == status.Paused && !endless && (!g.CountOnly || !s.Report.Counts):
		return &FailedError{s, outcome.ErrPaused}
	case over:
		return &FailedError{s, outcome.ErrFailed}
	}
	return nil
}

// notMet returns the error of a wait. After a timeout or an interruption, it includes the last known state.
func notMet(ctx context.Context, w WaitTarget, g Condition, last *Observation, err error) error {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = outcome.ErrInterrupted
	}
	switch {
	case errors.Is(err, outcome.ErrOverwritten), errors.Is(err, outcome.ErrGone), apierrors.IsNotFound(err):
		return err // the error already names the object
	case errors.Is(err, outcome.ErrFailed), errors.Is(err, outcome.ErrPaused):
	case errors.Is(err, outcome.ErrTimeout), errors.Is(err, outcome.ErrInterrupted):
		seen := "nothing"
		if last != nil {
			if errors.Is(err, outcome.ErrTimeout) {
				explain(ctx, last)
			}
			seen = escape.Line(g.now(*last))
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

// explaining is how long an observation or the end of a wait may be delayed to read events and nodes.
const explaining = time.Second

// explain completes the report of the last observation before a timeout if the observation is partial.
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

// steady tracks how long a condition has been met continuously.
type steady struct {
	wanted time.Duration
	// since is when the condition became true, or zero if it is false.
	since time.Time
}

// look records whether the condition is met. done reports whether it has been met for long enough. left is
// the remaining time, or zero if the condition is not met.
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

// FailedError is the error of a wait that gives up on a failed or paused object.
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
	return fmt.Sprintf("%s %s %s: %s", e.Target, verb, e.Err, e.Report.Failure(e.At))
}

func (e *FailedError) Unwrap() error { return e.Err }

// recheck returns the time until the next observation if nothing changes. Zero means that the backstop applies.
func (s Observation) recheck() time.Duration {
	switch s.Report.ReasonCode {
	case problem.CodeChildNotReady, problem.CodeStatusBehind, problem.CodeChangeNotSeen, problem.CodeCannotTell, problem.CodeConditionFalse:
		return follow.Pause // the verdict can change without a watch event
	}
	return s.Report.Recheck
}

func (a *Waiter) tell(s Observation) {
	if a.Show == nil {
		return
	}
	a.showing.Lock()
	defer a.showing.Unlock()
	a.Show(s)
}
