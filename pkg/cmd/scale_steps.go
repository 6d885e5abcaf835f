package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/imoocpod/kubectl-imoocpod/pkg/clients"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/scale"
)

// scaleInSteps changes the counts of objects in steps: one object after another, where an
// error keeps the rest as they are, or all at the same time.
func (o *scaleOptions) scaleInSteps(ctx context.Context, all []located) []error {
	errs := make([]error, len(all))
	inSteps := func(i int) {
		errs[i] = clients.Explain(all[i].target.Kind, o.inSteps(ctx, all[i]))
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

// tell writes a line to standard error. What was changed is changed, whether or not
// somebody reads of it.
func (o *scaleOptions) tell(format string, args ...any) {
	_ = escape.PrintLine(o.streams.ErrOut, format, args...)
}

// inSteps changes the count of one object in steps. Each is made on the condition that
// the count is the one that the step before has left, and awaited before the next.
func (o *scaleOptions) inSteps(ctx context.Context, c located) error {
	now, err := scale.Count(ctx, c.target.Resource(o.finder.Dynamic), c.target, c.field)
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
	warnPaused(o.streams.ErrOut, c.target, c.target.Object)
	o.warn(ctx, c.target, o.change)
	var done scale.Result
	for _, next := range scale.Steps(at, to, *o.steps.step) {
		if err := o.mayStep(ctx, c, at, next); err != nil {
			o.sayStopped(c, at, to, at)
			return err
		}
		begun := time.Now()
		// A write that is under way is not given up, so that it is known where the count stands.
		if done, err = o.set(context.WithoutCancel(ctx), c, scale.Request{Replicas: next, Current: at, Began: c.began}); err != nil {
			return o.notSet(c, at, to, err)
		}
		if err := o.awaitStep(ctx, c, done, next < at); err != nil {
			return o.notReady(ctx, c, at, next, to, err)
		}
		at = next
		o.tell("%s: %d ready (%s)", c.target, at, duration.HumanDuration(max(0, time.Since(begun)-o.steps.settle)))
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
	counts := scale.Steps(from, to, *o.steps.step)
	for _, count := range counts {
		fmt.Fprintf(&way, " → %d", count)
	}
	when := "when ready"
	if len(counts) > 1 {
		when = "each when ready"
	}
	if o.steps.settle > 0 {
		when += " for " + duration.HumanDuration(o.steps.settle)
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
	const hint = "\nhint: to ignore disruption budgets, use --ignore-budgets"
	report, err := observe.Guards(ctx, o.clients, c.target)
	if err != nil {
		return err
	}
	for _, needed := range []string{"pods", "poddisruptionbudgets"} {
		if slices.Contains(report.Unread, needed) {
			return fmt.Errorf("%w: no permission to list %s, so a step down to %d of %s may break a disruption budget%s", outcome.ErrRefused, needed, next, c.target, hint)
		}
	}
	if broken := report.Breaks(at - next); broken != "" {
		return fmt.Errorf("%w: a step down to %d of %s would break a disruption budget: %s%s", outcome.ErrRefused, next, c.target, escape.Line(broken), hint)
	}
	return nil
}

// awaitStep waits until the pods of a step are ready, and have been for long enough. On
// the way down it waits until the others are gone.
func (o *scaleOptions) awaitStep(ctx context.Context, c located, done scale.Result, down bool) error {
	g := observe.Scaled(o.clients, c.field, done.Replicas)
	g.For, g.Done = o.steps.settle, "done with this step"
	if down {
		g = observe.WithoutTerminating(g)
	}
	w := []observe.WaitTarget{{Target: c.target, Conditions: []observe.Condition{g}, UID: done.UID, Since: done.ResourceVersion}}
	if o.steps.parallel {
		// Several displays would draw over each other.
		errs := (&observe.Waiter{Clients: o.clients, Limits: o.limits.Limits}).Wait(ctx, w)
		if o.limits.logs {
			addLogs(ctx, o.clients, errs)
		}
		return outcome.Join(errs)
	}
	return outcome.Join(o.await(ctx, w))
}

// notSet is the error for a step that could not be made.
func (o *scaleOptions) notSet(c located, at, to int32, err error) error {
	if errors.Is(err, outcome.ErrPrecondition) {
		return fmt.Errorf("%w: someone else changed the replica count between two steps: %v", outcome.ErrReverted, err) //nolint:errorlint // its exit code is that of the first
	}
	o.sayStopped(c, at, to, at)
	return err
}

// notReady is the error for a step whose pods did not become ready. It goes back to the
// count before if that was asked for, unless somebody else has changed the count.
func (o *scaleOptions) notReady(ctx context.Context, c located, before, at, to int32, err error) error {
	failed := errors.Is(err, outcome.ErrFailed) || errors.Is(err, outcome.ErrPaused) || errors.Is(err, outcome.ErrTimeout)
	switch {
	case errors.Is(err, outcome.ErrReverted), errors.Is(err, outcome.ErrGone):
		return err // the count is not that of the step any more
	case !failed || o.steps.onFailure != revertOnFailure:
		o.sayStopped(c, at, to, before)
		return err
	}
	if _, back := o.set(context.WithoutCancel(ctx), c, scale.Request{Replicas: before, Current: at, Began: c.began}); back != nil {
		if errors.Is(back, outcome.ErrPrecondition) {
			return fmt.Errorf("%w: someone else changed the replica count before it could be set back to %d: %v\nthe step had not become ready: %v", outcome.ErrReverted, before, back, err) //nolint:errorlint // likewise
		}
		o.sayStopped(c, at, to, before)
		return fmt.Errorf("%w\nthe count could not be set back to %d: %w", err, before, back)
	}
	o.tell("%s: reverted to %d", c.target, before)
	return err
}

// sayStopped says where the count of an object stands, how to go on from there and, where
// that is another count, how to go back to the last one whose pods were ready.
func (o *scaleOptions) sayStopped(c located, at, to, good int32) {
	o.tell("%s: stopped at %d on the way to %d", c.target, at, to)
	if at != to {
		o.tell("hint: to continue: %s", o.scaleCommand(c, to)+o.steps.flags()+o.limits.flags())
	}
	if good != at {
		o.tell("hint: to go back: %s", o.scaleCommand(c, good))
	}
}

func (o *scaleOptions) scaleCommand(c located, replicas int32) string {
	command := fmt.Sprintf("%s scale %s/%s%s --replicas %d", programName, c.target.Kind.CRD(), c.target.Name, inNamespaceOf(c.target), replicas)
	if path := c.target.Path; path != nil {
		command += " --replicas-path " + escape.ShellWord(path.String())
	}
	return command
}
