package cmd

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// change is an object that a verb has changed, and what to wait for.
type change struct {
	observe.WaitTarget
	written edit.Written
	// object is printed, unless it is nil. unchanged says that nothing was to be done.
	object    *unstructured.Unstructured
	unchanged bool
	// said is what the change did, for a person, and notes are lines that follow.
	said  string
	notes []string
	// revert puts back what was there before, and returns that in a few words.
	revert func(context.Context) (string, error)
	// back is the command that returns to the state before; nil if there is none that is
	// known to lead to an object that was ready.
	back *commandline.Command
}

// followChanges waits for the changes of a verb, and reverts those that have failed if
// that was asked for. The errors are those of the changes, in their order. With the
// format json, it prints a report on each change of an object.
func (o *commonOptions) followChanges(ctx context.Context, format string, flags *changeWaitFlags, all []*change) []error {
	if len(all) == 0 {
		return nil
	}
	if flags.onFailure == revertOnFailure && flags.limits.Timeout == 0 {
		o.tell("waiting without a time limit: the change is reverted if an object fails for %s; with --timeout, also if it is not ready in time", flags.limits.FailAfter)
	}
	waits := make([]observe.WaitTarget, len(all))
	for i, c := range all {
		waits[i] = c.WaitTarget
		waits[i].Check = func(obj *unstructured.Unstructured) error { return c.written.Check(obj) }
	}
	errs := o.awaitAll(ctx, format, flags.limits, waits)
	for i := range min(len(all), len(errs)) {
		if errs[i] != nil {
			errs[i] = o.conclude(ctx, flags, all[i], errs[i])
		}
	}
	return errs
}

// conclude returns the error of a wait with what became of the change, after it has
// reverted the change if that was asked for.
func (o *commonOptions) conclude(ctx context.Context, flags *changeWaitFlags, c *change, err error) error {
	switch {
	case errors.Is(err, outcome.ErrInterrupted):
		return o.changeStays(flags, c, err)
	case errors.Is(err, outcome.ErrOverwritten):
		return o.overwritten(ctx, c, err)
	case flags.onFailure == revertOnFailure && c.revert != nil && notReady(err):
		return o.reverted(ctx, c, err)
	}
	return err
}

// changeStays adds to the error of an interrupted wait how to go on.
func (o *commonOptions) changeStays(flags *changeWaitFlags, c *change, err error) error {
	t := c.Target
	err = fmt.Errorf("%w\nthe change of %s stays", err, t)
	err = outcome.WithHint(err, "to wait on", commandOn("wait", &t, flags.limits.flags()...))
	if c.back != nil {
		err = outcome.WithHint(err, "to undo the change", *c.back)
	}
	return err
}

// overwritten adds to the error of a change that someone else has overwritten who may do
// so again.
func (o *commonOptions) overwritten(ctx context.Context, c *change, err error) error {
	snapshot, _, readErr := observe.Read(ctx, o.clients, c.Target, observe.Extent{Competitors: true})
	if readErr != nil {
		klog.FromContext(ctx).V(1).Info("Cannot look for other writers", "object", c.Target.String(), "err", readErr)
		return err
	}
	for _, other := range status.NewReport(snapshot).Reverts {
		err = outcome.WithAdvice(err, escape.Line(other.Message))
	}
	return err
}

// notReady reports whether a wait ended because its object did not become ready.
func notReady(err error) bool {
	return errors.Is(err, outcome.ErrFailed) || errors.Is(err, outcome.ErrPaused) || errors.Is(err, outcome.ErrTimeout)
}

// reverted reverts a change that has failed, and returns what became of it.
func (o *commonOptions) reverted(ctx context.Context, c *change, failure error) error {
	said, err := c.revert(ctx)
	switch {
	case err == nil:
		// The hints of the failure are about the template that is gone.
		err = fmt.Errorf("%w\n%s %w: %s", outcome.WithoutHints(failure), c.Target, outcome.ErrUndone, escape.Line(said))
		if stuck := o.stuckPods(ctx, c.Target); stuck != nil {
			err = outcome.WithHint(err, stuckHint, *stuck)
		}
		return err
	case errors.Is(err, outcome.ErrPrecondition):
		err = fmt.Errorf("%w: %w", outcome.ErrOverwritten, err)
	}
	return fmt.Errorf("%w\n%s was not undone: %w", failure, c.Target, kube.Explain(c.Target.Kind, err))
}
