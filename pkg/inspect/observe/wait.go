package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

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
	// Failed, if set, is called with the error of a wait as soon as the wait ends, and returns the error to report.
	Failed func(error) error
}

// holds returns an error if goal.UID is set and the object has another UID, or if Check fails.
func (goal WaitTarget) holds(o Observation) error {
	switch {
	case o.Object == nil:
		return nil
	case goal.UID != "" && o.Object.GetUID() != goal.UID:
		return fmt.Errorf("%s was %w during the wait, and another object has its name", o.Target, outcome.ErrGone)
	case goal.Check == nil:
		return nil
	}
	if err := goal.Check(o.Object); err != nil {
		return fmt.Errorf("%s: %w", o.Target, err)
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
	// Show, if set, is called for each change, and when a condition is met. Calls do not overlap.
	Show func(Observation)
	// Failed, if set, is called before WaitTarget.Failed. Calls for several objects can overlap.
	Failed func(error) error
	// Connection, if set, records whether the server can be reached.
	Connection *follow.Connection
	// Closely means that Show is called even without a change, and that observations include autoscalers and budgets.
	Closely bool

	showing sync.Mutex
}

// Wait waits for all targets at the same time. It returns an error or nil for each target, in the order of all.
func (w *Waiter) Wait(ctx context.Context, all []WaitTarget) []error {
	// The feeds must outlive the deadline, because explain still uses them.
	f := NewFollower(ctx, w.Clients, w.Connection, Extent{Depth: Reasons, Competitors: w.Closely}, len(all) > 1, w.Closely)
	defer f.Stop()
	f.patient = w.Limits.Once
	if w.Limits.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, w.Limits.Timeout, outcome.ErrTimeout)
		defer cancel()
	}
	return outcome.InParallel(len(all), func(i int) error {
		goal := all[i]
		err := kube.Explain(goal.Target.Kind, w.waitOne(ctx, f, goal))
		for _, failed := range []func(error) error{w.Failed, goal.Failed} {
			if err != nil && failed != nil {
				err = failed(err)
			}
		}
		return err
	})
}

func (w *Waiter) waitOne(ctx context.Context, f *Follower, goal WaitTarget) error {
	for i, c := range goal.Conditions {
		if err := w.waitCondition(ctx, f, goal, c, i == len(goal.Conditions)-1); err != nil {
			return err
		}
	}
	return nil
}

// waitCondition waits until one condition of a target is met.
func (w *Waiter) waitCondition(ctx context.Context, f *Follower, goal WaitTarget, c Condition, isLast bool) error {
	period := grace.Period{For: w.Limits.FailAfter, Endless: !w.Limits.FailFast || !c.FailsFast}
	var last, shown *Observation
	var held steady
	if isLast {
		held.wanted = w.Limits.Settle
	}
	unexplained := steady{wanted: explaining}
	err := f.watch(ctx, goal, c, func(o Observation) (bool, time.Duration, error) {
		if err := goal.holds(o); err != nil {
			return false, 0, err
		}
		met, err := c.met(o, last != nil)
		met, left := held.look(met && !o.Partial, o.At)
		o.Met = met && isLast
		_, wait := unexplained.look(o.Partial, o.At)
		over, again := period.Look(o.Report, o.At)
		if again > 0 {
			o.GivesUp = o.At.Add(again)
		}
		if wait == 0 && (shown == nil || met || w.Closely || o.differs(*shown)) {
			w.show(o)
			shown = &o
		}
		last = &o
		if met || err != nil {
			return met, 0, err
		}
		if err := givesUp(o, c, period.Endless, over); err != nil {
			return false, 0, err
		}
		if w.Limits.Once {
			return false, 0, outcome.ErrTimeout
		}
		if again == 0 && c.Tree {
			again = o.recheck()
		}
		return false, cmp.Or(left, wait, again), nil
	})
	if err != nil {
		err = notMet(ctx, goal, c, last, err)
	}
	return err
}

// givesUp returns an error if a complete observation ends the wait before its timeout. over means that the
// object has failed for too long. endless means that neither a failure nor a pause ends the wait. A pause
// does not end a wait for a count that takes effect despite the pause.
func givesUp(o Observation, c Condition, endless, over bool) error {
	var err error
	switch {
	case o.Partial:
		return nil
	case o.Report.Verdict == status.Paused && !endless && (!c.CountOnly || !o.Report.Counts):
		err = fmt.Errorf("%s is %w: %s", o.Target, outcome.ErrPaused, o.Report.Failure(o.At))
	case over:
		err = fmt.Errorf("%s has %w: %s", o.Target, outcome.ErrFailed, o.Report.Failure(o.At))
	default:
		return nil
	}
	return outcome.WithAdvice(&FailedError{o.Report, err}, o.Report.Hint)
}

// notMet returns the error of a wait. After a timeout or an interruption, the error includes the last known state.
func notMet(ctx context.Context, goal WaitTarget, c Condition, last *Observation, err error) error {
	// Ctrl-C can end the feeds before it ends ctx.
	if errors.Is(err, context.Canceled) {
		err = outcome.ErrInterrupted
	}
	timeout := errors.Is(err, outcome.ErrTimeout)
	switch {
	case errors.As(err, new(*FailedError)), errors.Is(err, outcome.ErrOverwritten), errors.Is(err, outcome.ErrGone), apierrors.IsNotFound(err):
		return err // the error already names the object
	case !timeout && !errors.Is(err, outcome.ErrInterrupted):
		return fmt.Errorf("wait for %s %s: %w", goal.Target, c.What, err)
	case last == nil:
		return fmt.Errorf("wait for %s %s: %w; last seen: nothing", goal.Target, c.What, err)
	case timeout:
		explain(ctx, last)
	}
	err = fmt.Errorf("wait for %s %s: %w; last seen: %s", goal.Target, c.What, err, escape.Line(c.now(*last)))
	return outcome.WithAdvice(err, last.Report.Hint)
}

// explaining is how long Show, or the end of a wait that timed out, may be delayed to read events and nodes.
const explaining = time.Second

// explain completes the report of the last observation of a wait that timed out, if this observation is partial.
func explain(ctx context.Context, last *Observation) {
	if !last.Partial {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), explaining)
	defer cancel()
	last.from.patient = true
	if _, r, err := last.from.look(ctx, last.Object); err == nil {
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
func (s *steady) look(met bool, now time.Time) (done bool, left time.Duration) {
	if !met {
		s.since = time.Time{}
		return false, 0
	}
	if s.since.IsZero() {
		s.since = now
	}
	left = max(0, s.wanted-now.Sub(s.since))
	return left == 0, left
}

// FailedError is the error of a wait that gives up on a failed or paused object.
type FailedError struct {
	Report status.Report
	error  // wraps outcome.ErrFailed or outcome.ErrPaused
}

func (e *FailedError) Unwrap() error { return e.error }

// recheck returns the time until the next observation if nothing changes. Zero means that the backstop applies.
func (o Observation) recheck() time.Duration {
	switch o.Report.ReasonCode {
	case problem.CodeChildNotReady, problem.CodeStatusBehind, problem.CodeChangeNotSeen, problem.CodeCannotTell, problem.CodeConditionFalse:
		return follow.Pause // the verdict can change without a watch event
	}
	return o.Report.Recheck
}

func (w *Waiter) show(o Observation) {
	if w.Show == nil {
		return
	}
	w.showing.Lock()
	defer w.showing.Unlock()
	w.Show(o)
}

// WaitForObject calls done with the current object, and again after every change. If the object does not
// exist, it passes nil. WaitForObject returns when done returns true or an error, when the server rejects a
// request, when the context ends, or after the timeout (ErrTimeout).
func WaitForObject(ctx context.Context, objects dynamic.ResourceInterface, name string, timeout time.Duration, done func(*unstructured.Unstructured) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, outcome.ErrTimeout)
	defer cancel()
	return causeOf(ctx, follow.One(ctx, objects, name, nil, done))
}

// WaitUntilGone waits until the given object is gone. Another object with the same name is ignored.
func WaitUntilGone(ctx context.Context, objects dynamic.ResourceInterface, gone *unstructured.Unstructured, timeout time.Duration) error {
	seen := "it still exists"
	err := WaitForObject(ctx, objects, gone.GetName(), timeout, func(obj *unstructured.Unstructured) (bool, error) {
		if obj == nil || obj.GetUID() != gone.GetUID() {
			return true, nil
		}
		if held := obj.GetFinalizers(); len(held) > 0 {
			seen = "it still has the finalizers " + strings.Join(held, ", ")
		}
		return false, nil
	})
	if errors.Is(err, outcome.ErrTimeout) {
		err = fmt.Errorf("%w; last seen: %s", err, seen)
	}
	if err != nil {
		kind := gone.GroupVersionKind()
		return fmt.Errorf("wait for %s.%s/%s to be gone: %w", strings.ToLower(kind.Kind), kind.Group, gone.GetName(), err)
	}
	return nil
}
