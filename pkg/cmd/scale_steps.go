package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/replicas"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/budget"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

type stepFlags struct {
	// step is nil if the whole change is made in one step.
	step     *intstr.IntOrString
	parallel bool
	// ignoreBudgets allows a step down to break a disruption budget.
	ignoreBudgets bool
}

func (f *stepFlags) addFlags(cmd *cobra.Command) {
	cmd.Flags().Var(optional(&f.step, replicas.ParseStep, "step"), "step", "Change the count in steps of 10 replicas, or of 25% of the whole change (rounded up), for example; wait until each is ready.")
	cmd.Flags().BoolVar(&f.parallel, "parallel", false, "Change several objects in steps at the same time, not one after another.")
	cmd.Flags().BoolVar(&f.ignoreBudgets, "ignore-budgets", false, "Scale down even if a step breaks a PodDisruptionBudget.")
}

func (f *stepFlags) given() bool { return f.step != nil }

// scaleInSteps changes replica counts in steps. Without --parallel, an error leaves the remaining objects unchanged.
func (o *scaleOptions) scaleInSteps(ctx context.Context, c *changer, all []*located) []error {
	scale := func(i int) error { return kube.Explain(all[i].target.Kind, o.inSteps(ctx, c, all[i])) }
	if o.steps.parallel {
		return outcome.InParallel(len(all), scale)
	}
	for i, l := range all {
		if err := scale(i); err != nil {
			for _, rest := range all[i+1:] {
				c.printErrf("%s: not scaled, because %s has not come to its count", rest.target, l.target)
			}
			return []error{err}
		}
	}
	return nil
}

// inSteps changes the replica count of one object in steps. Each step begins when the previous step is
// complete (see awaitStep). A step fails if someone else has changed the count.
func (o *scaleOptions) inSteps(ctx context.Context, c *changer, l *located) error {
	t := l.target
	at, err := replicas.Count(ctx, t.Resource(c.Dynamic), *t, l.field)
	if err != nil {
		return err
	}
	to, err := o.count.From(*t, int64(at))
	if err != nil {
		return err
	}
	counts, err := replicas.Steps(at, to, *o.steps.step)
	if err != nil {
		return fmt.Errorf("scale %s: %w", t, err)
	}
	began := at
	o.printPlan(c, t, at, counts)
	c.warnPaused(t)
	c.warnOfCompetitors(ctx, t, func(now int64) (int32, error) { return o.count.From(*t, now) })
	var done replicas.Result
	for _, next := range counts {
		if err := o.mayStep(ctx, c, t, at, next); err != nil {
			o.printStopped(c, l, at, to, at)
			return err
		}
		start := time.Now()
		if done, err = o.set(ctx, c, l, replicas.Request{Replicas: next, Current: at, Began: &began, UID: done.UID}); err != nil {
			if errors.Is(err, outcome.ErrPrecondition) || errors.Is(err, edit.ErrAnother) {
				return fmt.Errorf("%w: someone else changed the replica count between two steps: %v", outcome.ErrOverwritten, err) //nolint:errorlint // the first error decides the exit code
			}
			o.printStopped(c, l, at, to, at)
			return err
		}
		if err := o.awaitStep(ctx, c, l, done); err != nil {
			return o.stepNotReady(ctx, c, l, done, began, to, err)
		}
		at = next
		c.printErrf("%s: %d ready (%s)", t, at, duration.HumanDuration(max(0, time.Since(start)-o.change.limits.Settle)))
	}
	obj, err := o.result(ctx, c, l, done)
	if err != nil {
		return err
	}
	return c.print(obj, c.flags.done)
}

func (o *scaleOptions) printPlan(c *changer, t *observe.Target, from int32, counts []int32) {
	var way strings.Builder
	fmt.Fprint(&way, from)
	for _, count := range counts {
		fmt.Fprintf(&way, " → %d", count)
	}
	when := "when ready"
	if len(counts) > 1 {
		when = "each when ready"
	}
	if settle := o.change.limits.Settle; settle > 0 {
		when += " for " + duration.HumanDuration(settle)
	}
	c.printErrf("%s: %s, %s", t, o.change.dryRun.mark(way.String()), when)
}

// mayStep returns an error after an interruption or, unless budgets are ignored, if one of the steps could break a budget.
func (o *scaleOptions) mayStep(ctx context.Context, c *changer, t *observe.Target, at int32, counts ...int32) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if counts[0] >= at || o.steps.ignoreBudgets {
		return nil
	}
	const hint = "to ignore disruption budgets, use --ignore-budgets"
	_, seen, err := observe.Read(ctx, c.Clients, *t, observe.Extent{Competitors: true, Recount: true})
	if err != nil {
		return err
	}
	report := seen.Report
	for _, needed := range []string{"pods", "poddisruptionbudgets"} {
		if slices.Contains(report.Unread, needed) {
			err := fmt.Errorf("%w: no permission to list %s, so a step down to %d of %s may break a disruption budget", outcome.ErrRefused, needed, counts[0], t)
			return outcome.WithAdvice(err, hint)
		}
	}
	for _, next := range counts {
		if broken := budget.Broken(report.Budgets, report.Removes(at, next)); broken != "" {
			err := fmt.Errorf("%w: a step down to %d of %s would break a disruption budget: %s", outcome.ErrRefused, next, t, escape.Line(broken))
			return outcome.WithAdvice(err, hint)
		}
	}
	return nil
}

// awaitStep waits until the pods of a step are ready and, on the way down, until the removed pods are gone.
func (o *scaleOptions) awaitStep(ctx context.Context, c *changer, l *located, done replicas.Result) error {
	w := o.changed(c, l, done)
	condition := &w.Conditions[0]
	condition.Done = "done with this step"
	if done.Replicas < *done.Before {
		*condition = observe.WithoutTerminating(*condition)
	}
	shown, reports := *c.cluster, c.reports
	if o.steps.parallel {
		shown.streams.ErrOut, reports = io.Discard, "" // several displays would draw over each other
	}
	return outcome.Join(shown.awaitAll(ctx, reports, o.change.limits, []observe.WaitTarget{w.WaitTarget}, nil, nil))
}

// stepNotReady returns the error for a step whose pods did not become ready. With --on-failure=revert, it
// restores the count from before the first step, unless someone else has changed the count.
func (o *scaleOptions) stepNotReady(ctx context.Context, c *changer, l *located, done replicas.Result, began, to int32, err error) error {
	before, at := *done.Before, done.Replicas // a step names the current count, so Before is known
	switch {
	case errors.Is(err, outcome.ErrOverwritten):
		return c.overwritten(ctx, *l.target, err)
	case errors.Is(err, outcome.ErrGone):
		return err // no hint, because the object is gone
	case !notReady(err) || !o.change.reverts() || at == began:
		o.printStopped(c, l, at, to, before)
		return err
	}
	if _, back := o.set(ctx, c, l, replicas.Request{Replicas: began, Current: at, Began: &began, UID: done.UID}); back != nil {
		if errors.Is(back, outcome.ErrPrecondition) || errors.Is(back, edit.ErrAnother) {
			return fmt.Errorf("%w: someone else changed the replica count before it could be set back to %d: %v\nthe step had not become ready: %v", outcome.ErrOverwritten, began, back, err) //nolint:errorlint // as above
		}
		o.printStopped(c, l, at, to, before)
		return fmt.Errorf("%w\nthe count could not be set back to %d: %w", err, began, back)
	}
	return fmt.Errorf("%w\n%s %w: %d → %d", outcome.WithoutHints(err), l.target, outcome.ErrUndone, at, began)
}

// printStopped prints at which count an object stopped, and how to continue or to return to the last ready count.
func (o *scaleOptions) printStopped(c *changer, l *located, at, to, good int32) {
	if at == to {
		c.printErrf("%s: stopped at %d, which is not ready", l.target, at)
	} else {
		flags := []string{"--step", o.steps.step.String()} // without --parallel, because the hint is for one object
		if o.steps.ignoreBudgets {
			flags = append(flags, "--ignore-budgets")
		}
		flags = append(flags, o.change.limits.repeated("fail-after", "on-failure", "settle", "timeout")...)
		c.printErrf("%s: stopped at %d on the way to %d", l.target, at, to)
		c.printErrf("hint: to continue: %s", c.line(o.command(l, to, flags...)))
	}
	if good != at {
		c.printErrf("hint: to go back: %s", c.line(o.command(l, good)))
	}
}
