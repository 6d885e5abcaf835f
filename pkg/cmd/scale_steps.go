package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/replicas"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// scaleInSteps changes the counts of objects in steps: one object after another, where an
// error keeps the rest as they are, or all at the same time.
func (o *scaleOptions) scaleInSteps(ctx context.Context, all []located) []error {
	errs := make([]error, len(all))
	inSteps := func(i int) {
		errs[i] = kube.Explain(all[i].target.Kind, o.inSteps(ctx, all[i]))
	}
	if o.steps.parallel {
		var running sync.WaitGroup
		for i := range all {
			running.Go(func() { inSteps(i) })
		}
		running.Wait()
		return errs
	}
	for i := range all {
		if inSteps(i); errs[i] != nil {
			for _, rest := range all[i+1:] {
				o.tell("%s: not scaled, because %s has not come to its count", rest.target, all[i].target)
			}
			break
		}
	}
	return errs
}

// inSteps changes the count of one object in steps. Each is made on the condition that
// the count is the one that the step before has left, and awaited before the next.
func (o *scaleOptions) inSteps(ctx context.Context, c located) error {
	now, err := replicas.Count(ctx, c.target.Resource(o.finder.Dynamic), c.target, c.field)
	if err != nil {
		return err
	}
	to, err := o.change.From(c.target, now)
	if err != nil {
		return err
	}
	at := int32(now) //nolint:gosec // what From takes is within bounds
	c.began = new(at)
	if err := o.sayPlan(c.target, at, to); err != nil {
		return err
	}
	o.warnPaused(c.target, c.target.Object)
	o.warn(ctx, c.target, o.change)
	var done replicas.Result
	for _, next := range replicas.Steps(at, to, *o.steps.step) {
		if err := o.mayStep(ctx, c, at, next); err != nil {
			o.sayStopped(c, at, to, at)
			return err
		}
		begun := time.Now()
		if done, err = o.set(ctx, c, replicas.Request{Replicas: next, Current: at, Began: c.began}); err != nil {
			return o.notSet(c, at, to, err)
		}
		if err := o.awaitStep(ctx, c, done, next < at); err != nil {
			return o.stepNotReady(ctx, c, at, next, to, err)
		}
		at = next
		o.tell("%s: %d ready (%s)", c.target, at, duration.HumanDuration(max(0, time.Since(begun)-o.after.Settle)))
	}
	obj, err := o.result(ctx, c, &done)
	if err != nil {
		return err
	}
	return o.printer.PrintObj(obj, o.streams.Out)
}

// sayPlan says which counts there are on the way from one count to another.
func (o *scaleOptions) sayPlan(t observe.Target, from, to int32) error {
	var way strings.Builder
	fmt.Fprint(&way, from)
	counts := replicas.Steps(from, to, *o.steps.step)
	for _, count := range counts {
		fmt.Fprintf(&way, " → %d", count)
	}
	when := "when ready"
	if len(counts) > 1 {
		when = "each when ready"
	}
	if o.after.Settle > 0 {
		when += " for " + duration.HumanDuration(o.after.Settle)
	}
	return escape.PrintLine(o.streams.ErrOut, "%s: %s, %s", t, o.dryRun.mark(way.String()), when)
}

// mayStep reports why the next step may not begin: somebody has interrupted the command,
// or fewer pods would break a disruption budget.
func (o *scaleOptions) mayStep(ctx context.Context, c located, at, next int32) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if next >= at || o.steps.ignoreBudgets {
		return nil
	}
	const hint = "to ignore disruption budgets, use --ignore-budgets"
	report, err := observe.Guards(ctx, o.clients, c.target)
	if err != nil {
		return err
	}
	for _, needed := range []string{"pods", "poddisruptionbudgets"} {
		if slices.Contains(report.Unread, needed) {
			err := fmt.Errorf("%w: no permission to list %s, so a step down to %d of %s may break a disruption budget", outcome.ErrRefused, needed, next, c.target)
			return outcome.WithAdvice(err, hint)
		}
	}
	if broken := report.Breaks(at - next); broken != "" {
		err := fmt.Errorf("%w: a step down to %d of %s would break a disruption budget: %s", outcome.ErrRefused, next, c.target, escape.Line(broken))
		return outcome.WithAdvice(err, hint)
	}
	return nil
}

// awaitStep waits until the pods of a step are ready, and have been for long enough. On
// the way down it waits until the others are gone.
func (o *scaleOptions) awaitStep(ctx context.Context, c located, done replicas.Result, down bool) error {
	w := o.changed(c, done)
	g := &w.Conditions[0]
	g.Done = "done with this step"
	if down {
		*g = observe.WithoutTerminating(*g)
	}
	w.Check = w.written.Check
	all := []observe.WaitTarget{w.WaitTarget}
	if !o.steps.parallel {
		return outcome.Join(o.awaitAll(ctx, o.format(), o.after.waitFlags, all))
	}
	// Several displays would draw over each other.
	errs := (&observe.Waiter{Clients: o.clients, Limits: o.after.Limits}).Wait(ctx, all)
	if o.after.logs {
		addLogs(ctx, o.clients, errs)
	}
	return outcome.Join(errs)
}

// notSet is the error for a step that could not be made.
func (o *scaleOptions) notSet(c located, at, to int32, err error) error {
	if errors.Is(err, outcome.ErrPrecondition) {
		return fmt.Errorf("%w: someone else changed the replica count between two steps: %v", outcome.ErrOverwritten, err) //nolint:errorlint // its exit code is that of the first
	}
	o.sayStopped(c, at, to, at)
	return err
}

// stepNotReady is the error for a step whose pods did not become ready. It goes back to the
// count before if that was asked for, unless somebody else has changed the count.
func (o *scaleOptions) stepNotReady(ctx context.Context, c located, before, at, to int32, err error) error {
	switch {
	case errors.Is(err, outcome.ErrOverwritten):
		return o.overwritten(ctx, change{WaitTarget: observe.WaitTarget{Target: c.target}}, err)
	case errors.Is(err, outcome.ErrGone):
		return err // there is no count to go on from
	case !notReady(err) || o.after.onFailure != revertOnFailure:
		o.sayStopped(c, at, to, before)
		return err
	}
	if _, back := o.set(ctx, c, replicas.Request{Replicas: before, Current: at, Began: c.began}); back != nil {
		if errors.Is(back, outcome.ErrPrecondition) {
			return fmt.Errorf("%w: someone else changed the replica count before it could be set back to %d: %v\nthe step had not become ready: %v", outcome.ErrOverwritten, before, back, err) //nolint:errorlint // likewise
		}
		o.sayStopped(c, at, to, before)
		return fmt.Errorf("%w\nthe count could not be set back to %d: %w", err, before, back)
	}
	o.tell("%s: reverted to %d", c.target, before)
	return fmt.Errorf("%w\n%s %w: %d → %d", outcome.WithoutHints(err), c.target, outcome.ErrUndone, at, before)
}

// sayStopped says where the count of an object stands, how to go on from there and, where
// that is another count, how to go back to the last one whose pods were ready.
func (o *scaleOptions) sayStopped(c located, at, to, good int32) {
	o.tell("%s: stopped at %d on the way to %d", c.target, at, to)
	if at != to {
		o.tell("hint: to continue: %s", o.line(o.command(c, to, append(o.steps.flags(), o.after.flags()...)...)))
	}
	if good != at {
		o.tell("hint: to go back: %s", o.line(o.command(c, good)))
	}
}

// command is the one that sets a count of an object.
func (o *scaleOptions) command(c located, replicas int32, flags ...string) commandline.Command {
	command := commandline.Plugin("scale", c.target.Kind.CRD()+"/"+c.target.Name).In(c.target.Namespace).With("--replicas", strconv.Itoa(int(replicas)))
	if path := c.target.Path; path != nil {
		command = command.With("--replicas-path", path.String())
	}
	return command.With(flags...)
}
