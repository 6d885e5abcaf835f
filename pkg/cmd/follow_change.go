package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/logs"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/terminal"
)

// change is a completed change of an object, with the conditions to wait for.
type change struct {
	observe.WaitTarget
	// object is printed. unchanged means that the object already had the wanted state, so nothing can be undone.
	object    *unstructured.Unstructured
	unchanged bool
	// template means that the change is in the pod template.
	template bool
	// said is a description of the change. The lines in notes are printed after it.
	said  string
	notes []string
	// revert undoes the change, and returns a short description such as "3 → 1". It is nil if nothing can be undone.
	revert func(context.Context) (string, error)
	// back is the command to suggest for undoing the change, or nil if no command is suggested.
	back *commandline.Command
}

// follow waits for the changes if the command waits, and reverts failed changes if requested. It returns
// the errors in the order of the changes. With -o json, it prints a report whenever an object changes.
func (c *changer) follow(ctx context.Context, all []*change) []error {
	if !c.waits || len(all) == 0 {
		return nil
	}
	if c.flags.reverts() && c.flags.limits.Timeout == 0 && c.flags.limits.FailFast {
		c.printErrf("waiting without a time limit: the change is reverted if an object fails for %s; with --timeout, also if it is not ready in time", c.flags.limits.FailAfter)
	}
	waits := make([]observe.WaitTarget, len(all))
	for i, made := range all {
		waits[i] = made.WaitTarget
		waits[i].Failed = func(err error) error { return c.conclude(ctx, made, err) }
	}
	return c.awaitAll(ctx, c.reports, c.flags.limits, waits, nil, nil)
}

// conclude adds hints to the error of an interrupted or forbidden wait, or of an overwritten change. If requested, it
// reverts the change of an object that did not become ready, and adds the result to the error.
func (c *changer) conclude(ctx context.Context, made *change, err error) error {
	switch {
	case errors.Is(err, outcome.ErrOverwritten):
		return c.overwritten(ctx, made.Target, err)
	case c.flags.reverts() && made.revert != nil && !made.unchanged && notReady(err) && ctx.Err() == nil:
		return c.reverted(ctx, made, err)
	case errors.Is(err, outcome.ErrInterrupted), apierrors.IsForbidden(err), apierrors.IsUnauthorized(err), ctx.Err() != nil && notReady(err):
		return c.changeStays(made, err)
	}
	return err
}

// changeStays adds hints to the error of a wait: how to continue an interrupted wait, and how to undo the change.
func (c *changer) changeStays(made *change, err error) error {
	if !made.unchanged {
		err = fmt.Errorf("%w\nthe change of %s stays", err, made.Target)
	}
	if !apierrors.IsForbidden(err) {
		err = outcome.WithHint(err, "to wait on", commandOn("wait", &made.Target, c.flags.limits.repeated("fail-after", "settle", "timeout")...))
	}
	if made.back != nil && !made.unchanged {
		err = outcome.WithHint(err, "to undo the change", *made.back)
	}
	return err
}

// overwritten adds hints to the error of an overwritten replica count: the writers that may overwrite it again.
func (c *changer) overwritten(ctx context.Context, t observe.Target, err error) error {
	if lost, is := errors.AsType[*edit.OverwrittenError](err); is {
		if _, counts := lost.Wrote.(int64); !counts {
			return err
		}
	}
	_, seen, readErr := observe.Read(ctx, c.Clients, t, observe.Extent{Competitors: true})
	if readErr != nil {
		klog.FromContext(ctx).V(1).Info("Cannot look for other writers", "object", t.String(), "err", readErr)
		return err
	}
	for _, other := range seen.Report.Reverts {
		err = outcome.WithAdvice(err, escape.Line(other.Message))
	}
	return err
}

// notReady reports whether an error means that an object did not become ready, or that a read was forbidden.
func notReady(err error) bool {
	return errors.Is(err, outcome.ErrFailed) || errors.Is(err, outcome.ErrPaused) || errors.Is(err, outcome.ErrTimeout) || apierrors.IsForbidden(err)
}

// reverted reverts a failed change. The returned error describes both the failure and the revert.
func (c *changer) reverted(ctx context.Context, made *change, failure error) error {
	said, err := made.revert(ctx)
	switch {
	case err == nil:
		// Drop the hints of the failure, which describe the state before the revert.
		err = fmt.Errorf("%w\n%s %w: %s", outcome.WithoutHints(failure), made.Target, outcome.ErrUndone, escape.Line(said))
		if stuck := c.stuckPods(ctx, made); stuck != nil {
			err = outcome.WithHint(err, stuckHint, *stuck)
		}
		return err
	case errors.Is(err, outcome.ErrPrecondition):
		err = fmt.Errorf("%w: %w", outcome.ErrOverwritten, err)
	}
	return fmt.Errorf("%w\n%s was not undone: %w", failure, made.Target, kube.Explain(made.Target.Kind, err))
}

const stuckHint = "the pod template has changed, but a StatefulSet waits for pods that are not ready before it replaces them; to replace them"

// stuckPods returns the command to delete failing pods, which keep a StatefulSet from using its changed pod template,
// or nil if it finds none. The StatefulSet controller waits until a pod is ready before it replaces the pod, even if
// only the new template can make it ready (https://github.com/kubernetes/kubernetes/issues/67250).
func (c *changer) stuckPods(ctx context.Context, made *change) *commandline.Command {
	t := made.Target
	if !made.template || t.Kind.CRD() != kinds.StatefulSets {
		return nil
	}
	t.Object = nil // read the current object
	_, seen, err := observe.Read(ctx, c.Clients, t, observe.Extent{Depth: observe.Below})
	if err != nil {
		klog.FromContext(ctx).V(1).Info("Cannot check for stuck pods", "object", t.String(), "err", err)
		return nil
	}
	policy, _, err := unstructured.NestedString(seen.Object.Object, "spec", "podManagementPolicy")
	if err != nil || policy == string(appsv1.ParallelPodManagement) {
		return nil
	}
	var names []string
	for _, pod := range seen.Report.Pods {
		if !pod.Ready && pod.Code != "" {
			names = append(names, pod.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return new(commandline.Kubectl("delete", "pod").WithSome(names).In(t.Namespace))
}

// awaitAll waits for several targets. With -o json, it prints a report for every change. Otherwise, it shows the targets
// on the screen, which it ends, or if screen is nil, the progress as text. If reached is not nil, it then also prints
// a target that meets its conditions. With --logs, the errors of failed objects include the last log lines.
func (c *cluster) awaitAll(
	ctx context.Context, format string, flags waitFlags, all []observe.WaitTarget,
	screen *terminal.Screen, reached func(observe.Observation) error,
) []error {
	w := &observe.Waiter{Clients: c.Clients, Limits: flags.Limits}
	if flags.logs {
		w.Failed = func(err error) error { return logs.AddLastLines(ctx, c.Core, err) }
	}
	var broken error
	switch {
	case screen != nil:
		defer screen.End()
		w.Closely, w.Connection = true, &follow.Connection{Changed: screen.SetLost}
		w.Show = func(o observe.Observation) { screen.Show(o.Report) }
	case len(all) == 0:
		return nil
	case format == "json":
		encoder := json.NewEncoder(c.streams.Out)
		w.Show = func(o observe.Observation) { broken = cmp.Or(broken, encoder.Encode(o.Report)) }
	default:
		progress := terminal.NewProgress(c.streams.ErrOut, terminal.Style(c.streams.ErrOut, "auto"), goalOf(all))
		defer progress.End()
		w.Connection = &follow.Connection{Changed: progress.SetLost}
		w.Show = func(o observe.Observation) {
			progress.Show(o)
			if o.Met && reached != nil {
				broken = outcome.Join([]error{broken, progress.Print(func() error { return reached(o) })})
			}
		}
	}
	errs := w.Wait(ctx, all)
	return append(errs, broken)
}

// goalOf returns the end of the progress line "2 of 3 objects are …". If the goals of the targets differ,
// they all include readiness, so it returns "ready".
func goalOf(all []observe.WaitTarget) string {
	goal := func(w observe.WaitTarget) string { return w.Conditions[len(w.Conditions)-1].Done }
	if slices.ContainsFunc(all, func(w observe.WaitTarget) bool { return goal(w) != goal(all[0]) }) {
		return observe.Ready().Done
	}
	return goal(all[0])
}
