package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/grace"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

const (
	// evaluateEvery is the interval at which objects that have not converged are evaluated.
	evaluateEvery = 2 * time.Second
	// evaluatedAtOnce is the maximum number of objects per evaluation. Each object needs a few requests.
	evaluatedAtOnce = 20
	// lastLook limits the duration of the final evaluation of an object.
	lastLook = 10 * time.Second
)

// errGivenUp means that all objects that have not converged have failed.
var errGivenUp = errors.New("gave up")

// Ends reports whether the loop ends by itself.
func (o *Options) Ends() bool { return o.Once || o.DryRun }

// runUntilConverged runs a loop until every object has converged or failed. It returns an error for each object that
// has not converged, and for each kind that is not reconciled but may have objects. A dry run adds plans to o.plans.
func (o *Options) runUntilConverged(ctx context.Context, loop *controller.Controller, namespace string) error {
	looping, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var running sync.WaitGroup
	running.Go(func() { stop(loop.Run(looping)) })
	err := o.awaitConvergence(looping, loop)
	all, _ := loop.States()
	leftOut := loop.Refused()
	stop(nil)
	running.Wait()
	if err != nil && !errors.Is(err, outcome.ErrTimeout) && !errors.Is(err, errGivenUp) {
		return err
	}
	var errs []error
	switch {
	case o.DryRun:
		o.mu.Lock()
		o.plans = append(o.plans, all...)
		o.mu.Unlock()
		errs = append(errs, err)
	case err != nil:
		for _, s := range all {
			if !s.Converged {
				errs = append(errs, o.explainMissing(ctx, s, err))
			}
		}
	}
	for _, crd := range slices.Sorted(maps.Keys(leftOut)) {
		known := slices.IndexFunc(o.Kinds.known, func(k kinds.Kind) bool { return k.CRD() == crd })
		if known < 0 || o.mayHave(ctx, o.Kinds.known[known], namespace) {
			errs = append(errs, fmt.Errorf("%s is not reconciled: %w", crd, leftOut[crd]))
		}
	}
	switch joined := outcome.Join(errs); {
	case joined != nil || o.DryRun:
		return joined
	case errors.Is(err, outcome.ErrTimeout):
		return err
	}
	o.Log.say("converged: %s", problem.Quantity(len(all), "object"))
	return nil
}

// awaitConvergence waits until every object has converged, and returns nil. It returns errGivenUp if
// each object that has not converged has failed (see hasFailed), or the cause if ctx is canceled.
func (o *Options) awaitConvergence(ctx context.Context, loop *controller.Controller) error {
	ticker := time.NewTicker(evaluateEvery)
	defer ticker.Stop()
	periods := map[memory.Key]*grace.Period{}
	failed := map[memory.Key]bool{}
	for {
		synced := loop.Synced() // before States, so that all contains the objects of each kind
		all, settled := loop.States()
		if settled {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-loop.Changed():
			continue
		case <-ticker.C:
		}
		unfinished, givenUp, evaluated := false, false, 0
		for _, s := range all {
			switch {
			case s.Converged:
				delete(failed, s.Key)
				continue
			case !failed[s.Key] && !o.DryRun && evaluated < evaluatedAtOnce:
				if periods[s.Key] == nil {
					periods[s.Key] = &grace.Period{For: o.Limits.FailAfter, Endless: !o.Limits.FailFast}
				}
				evaluated++
				failed[s.Key] = o.hasFailed(ctx, s, periods[s.Key])
			}
			unfinished = unfinished || !failed[s.Key]
			givenUp = givenUp || failed[s.Key]
		}
		recovered := func(s controller.State) bool { // since it was evaluated
			failed[s.Key] = failed[s.Key] && o.hasFailed(ctx, s, periods[s.Key])
			return !failed[s.Key] && !s.Converged
		}
		if givenUp && !unfinished && synced && !slices.ContainsFunc(all, recovered) {
			return errGivenUp
		}
	}
}

// hasFailed reports whether the grace period of a failing object is over. Unless the period is
// endless, a paused object counts as failed immediately, because it will not converge.
func (o *Options) hasFailed(ctx context.Context, s controller.State, period *grace.Period) bool {
	seen, err := o.evaluate(ctx, s)
	if err != nil {
		return false
	}
	over, _ := period.Look(seen.Report, seen.At)
	return over || seen.Report.Verdict == status.Paused && !period.Endless
}

func (o *Options) evaluate(ctx context.Context, s controller.State) (observe.Observation, error) {
	t := observe.Target{Kind: s.Of, Namespace: s.Namespace, Name: s.Name}
	_, seen, err := observe.Read(ctx, o.clients, t, observe.Extent{Depth: observe.Reasons})
	return seen, err
}

// explainMissing returns an error with the reason why an object has not converged. cause is errGivenUp or the timeout.
func (o *Options) explainMissing(ctx context.Context, s controller.State, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLook)
	defer cancel()
	seen, err := o.evaluate(ctx, s)
	report := seen.Report
	var state string
	switch {
	case err != nil:
		state = cmp.Or(s.Failure, err.Error())
	case !errors.Is(cause, errGivenUp):
		state = fmt.Sprintf("%s: %s", report.Verdict, report.Reason)
	case report.Verdict == status.Paused:
		return outcome.WithAdvice(fmt.Errorf("%s is %w: %s", o.nameOf(s), outcome.ErrPaused, report.Failure(seen.At)), report.Hint)
	default:
		return outcome.WithAdvice(fmt.Errorf("%s has %w: %s", o.nameOf(s), outcome.ErrFailed, report.Failure(seen.At)), report.Hint)
	}
	return fmt.Errorf("wait for %s to be ready: %w; last seen: %s", o.nameOf(s), outcome.ErrTimeout, escape.Line(state))
}

// mayHave reports whether a kind has objects. If they cannot be listed, it returns true, unless the CRD is missing.
func (o *Options) mayHave(ctx context.Context, kind kinds.Kind, namespace string) bool {
	list, err := o.clients.Dynamic.Resource(kind.Resource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return !apierrors.IsNotFound(err)
	}
	return len(list.Items) > 0
}

func (o *Options) nameOf(s controller.State) string {
	name := s.Of.String() + "/" + s.Name
	if o.Log.qualified {
		name += " in namespace " + s.Namespace
	}
	return name
}
