package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

const (
	// evaluateEvery is how often the objects that have not converged are evaluated.
	evaluateEvery = 2 * time.Second
	// evaluatedAtOnce is how many objects are evaluated in parallel: each costs a few
	// requests.
	evaluatedAtOnce = 20
	// lastLook limits the final evaluation after the timeout.
	lastLook = 10 * time.Second
)

// errGivenUp means that every object that has not converged has failed.
var errGivenUp = errors.New("gave up")

// failureTracker gives up on failed objects, by the verdict and the grace period of "status".
type failureTracker struct {
	of    *Options
	loop  *controller.Controller
	grace map[memory.Key]*status.FailureGrace
}

// allFailed waits until the grace period is over for every object that has not converged. It
// returns false if the context ends first.
func (t *failureTracker) allFailed(ctx context.Context) bool {
	ticker := time.NewTicker(evaluateEvery)
	defer ticker.Stop()
	failed := map[memory.Key]bool{}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
		left, judged := 0, 0
		all, _ := t.loop.States()
		for _, s := range all {
			if s.Converged {
				delete(failed, s.Key)
				continue
			}
			if !failed[s.Key] && judged < evaluatedAtOnce {
				judged++
				failed[s.Key] = t.hasFailed(ctx, s)
			}
			if !failed[s.Key] {
				left++
			}
		}
		if left == 0 && len(failed) > 0 {
			return true
		}
	}
}

// hasFailed reports whether the grace period of an object is over.
func (t *failureTracker) hasFailed(ctx context.Context, s controller.State) bool {
	grace := t.grace[s.Key]
	if grace == nil {
		grace = &status.FailureGrace{For: t.of.Limits.FailAfter, Endless: !t.of.Limits.FailFast}
		t.grace[s.Key] = grace
	}
	report, at, err := t.of.evaluate(ctx, s)
	if err != nil {
		return false
	}
	over, _ := grace.Look(report, at)
	// A paused object will not converge either.
	return over || report.Verdict == status.Paused && !grace.Endless
}

// evaluate returns a fresh report on an object.
func (o *Options) evaluate(ctx context.Context, s controller.State) (status.Report, time.Time, error) {
	t := observe.Target{Kind: s.Of, Namespace: s.Namespace, Name: s.Name}
	snapshot, _, err := observe.Read(ctx, o.clients, t, observe.Extent{Depth: observe.Reasons})
	if err != nil {
		return status.Report{}, snapshot.Now, err
	}
	return status.NewReport(snapshot), snapshot.Now, nil
}

// explainMissing returns why an object has not converged, after the timeout or after it was
// given up.
func (o *Options) explainMissing(ctx context.Context, s controller.State, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLook)
	defer cancel()
	seen := escape.Line(s.Why)
	report, at, err := o.evaluate(ctx, s)
	switch {
	case err == nil && report.Verdict == status.Paused && errors.Is(cause, errGivenUp):
		err := fmt.Errorf("%s is %w: %s", o.nameOf(s), outcome.ErrPaused, report.Failure(at))
		return outcome.WithAdvice(err, report.Hint)
	case err == nil && errors.Is(cause, errGivenUp):
		err := fmt.Errorf("%s has %w: %s", o.nameOf(s), outcome.ErrFailed, report.Failure(at))
		return outcome.WithAdvice(err, report.Hint)
	case err == nil:
		seen = escape.Line(fmt.Sprintf("%s: %s", report.Verdict, report.Reason))
	}
	return fmt.Errorf("wait for %s to be ready: %w; last seen: %s", o.nameOf(s), outcome.ErrTimeout, seen)
}
