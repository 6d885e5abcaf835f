package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/revision"
	"github.com/imoocpod/kubectl-imoocpod/pkg/rollout"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// templateChange is what "set" and "undo" share, which change what the pods of an object are
// made from.
type templateChange struct {
	podsChange
	// undoOnFailure says that what was before is written back if the object fails.
	undoOnFailure bool
}

// wanted computes the fields that a verb wants of an object as it is, and the cause of
// the change, as rollout.Request has it.
type wanted = func(obj *unstructured.Unstructured) ([]revision.Field, string, error)

func newTemplateChange(common commonOptions, done string) templateChange {
	return templateChange{podsChange: podsChange{changeOptions: newChangeOptions(common, done)}}
}

func (o *templateChange) addFlags(cmd *cobra.Command) {
	o.podsChange.addFlags(cmd, "Wait until the objects have pods of the new template and are ready.")
}

func (o *templateChange) complete(args []string) error {
	o.wait = o.wait || o.undoOnFailure
	return o.podsChange.complete(args)
}

// written is what was changed in an object, and the wait for it.
type written struct {
	done rollout.Result
	wait observe.WaitTarget
}

// run changes all objects in the way that want computes for each, and waits for them if
// that was asked for.
func (o *templateChange) run(ctx context.Context, want func(context.Context, observe.Target) (wanted, error)) error {
	targets, errs := o.begin(ctx, "no matching resources found")
	// All are written before any is waited for.
	all, failed := each(targets, func(t observe.Target) (written, error) { return o.change(ctx, t, want) })
	errs = append(errs, failed...)
	if o.wait {
		errs = append(errs, o.await(ctx, all)...)
	}
	return outcome.Join(errs)
}

// change changes one object, and says what changed.
func (o *templateChange) change(ctx context.Context, t observe.Target, want func(context.Context, observe.Target) (wanted, error)) (written, error) {
	if err := t.Read(ctx, o.finder.Dynamic); err != nil {
		return written{}, err
	}
	compute, err := want(ctx, t)
	if err != nil {
		return written{}, err
	}
	o.warnPaused(t, t.Object)
	before, err := o.readBefore(ctx, t)
	if err != nil {
		return written{}, err
	}
	done, err := rollout.Write(ctx, t.Resource(o.finder.Dynamic), t, o.request(compute))
	if err != nil {
		return written{}, err
	}
	if done.Change != "" {
		o.warn(t, done)
	}
	if err := o.say(t, done); err != nil {
		return written{}, err
	}
	if o.dryRun == "none" && done.Change != "" {
		if remove, stuck := o.stuck(ctx, t); stuck {
			if err := escape.PrintLine(o.streams.ErrOut, "hint: %s: %s", hintStuck, o.line(remove)); err != nil {
				return written{}, err
			}
		}
	}
	if !o.wait {
		o.loops.warn(ctx, t)
	}
	w := written{done: done, wait: observe.WaitTarget{
		Target: t, UID: done.Object.GetUID(), Since: done.Object.GetResourceVersion(),
		Conditions: []observe.Condition{o.condition(ctx, t, before, done)},
	}}
	w.wait.Target.Object = done.Object
	return w, nil
}

func (o *templateChange) request(want wanted) rollout.Request {
	return rollout.Request{
		By: o.by, FieldManager: o.fieldManager, Client: o.dryRun.client(), DryRun: o.dryRun.server(),
		Want: func(obj *unstructured.Unstructured) ([]revision.Field, string, error) {
			fields, cause, err := want(obj)
			if o.reason != "" {
				cause = o.reason
			}
			return fields, cause, err
		},
	}
}

// warn says who will bring the old value back.
func (o *templateChange) warn(t observe.Target, done rollout.Result) {
	var changed []revision.Field
	for i, f := range done.After {
		if !revision.Same(done.Before[i:i+1], done.After[i:i+1]) {
			changed = append(changed, f)
		}
	}
	for _, warning := range revision.Overwriters(t.Object, revision.Paths(changed)) {
		_ = escape.PrintLine(o.streams.ErrOut, "Warning: %s: %s", t, warning) // the change is made, and that is what matters
	}
}

// say prints the object, and what changed in it. A dry run shows all of the difference.
func (o *templateChange) say(t observe.Target, done rollout.Result) error {
	format := *o.print.OutputFormat
	if done.Change == "" && (format == "" || format == "name") {
		return nil // what was not done must not look done
	}
	if o.dryRun != "none" && done.Change != "" {
		if err := diffFields(o.streams.ErrOut, t.String(), t.String()+" (dry run)", done.Before, done.After); err != nil {
			return err
		}
	}
	err := o.printer.PrintObj(done.Object, o.streams.Out)
	if err != nil || done.Change == "" {
		return err
	}
	return escape.PrintLine(o.streams.ErrOut, "%s: %s", t, o.dryRun.mark(done.Change))
}

// condition is what is waited for after a change. The built-in controllers say which
// generation they have seen, and how many pods are of its template; of kinds that this
// program reconciles, the status or the label of each pod says the latter. Of a change that is in no generation, and of other controllers, the pods are the proof:
// those that are not made from what was written must go.
func (o *templateChange) condition(ctx context.Context, t observe.Target, before status.Snapshot, done rollout.Result) observe.Condition {
	if !o.wait || done.Change == "" || kinds.InPlace(t.Object) {
		return observe.Ready()
	}
	made := madeSince(done)
	switch {
	case made != nil:
	case t.Kind.Reconciled() || t.Kind.BuiltIn():
		return observe.Ready()
	default:
		made = o.madeFrom(ctx, t, done)
	}
	old := status.NewReport(before).Pods
	for _, pod := range before.Pods.Objects() {
		if made(pod) {
			old = slices.DeleteFunc(old, func(p status.Pod) bool { return p.UID == pod.UID })
		}
	}
	if len(old) == 0 {
		return observe.Ready()
	}
	return observe.Replaced(old)
}

// madeSince tells the pods that are as after a change of nothing but the time of a restart
// in the annotations of the object, which its pods carry. Nil: it was another change.
func madeSince(done rollout.Result) func(*corev1.Pod) bool {
	at := ""
	for i, f := range done.After {
		if revision.Same(done.Before[i:i+1], done.After[i:i+1]) {
			continue
		}
		if f.Path.Steps[0].Name != "metadata" {
			return nil
		}
		at, _ = f.Value.(string)
	}
	return func(pod *corev1.Pod) bool { return pod.Annotations[apis.AnnotationRestartedAt] == at }
}

// madeFrom tells the pods that are of the revision that was written, if there is one.
func (o *templateChange) madeFrom(ctx context.Context, t observe.Target, done rollout.Result) func(*corev1.Pod) bool {
	history, err := rollout.History(ctx, o.finder.Dynamic, t)
	if err != nil {
		klog.FromContext(ctx).V(1).Info("All pods are waited for to be replaced", "object", t.String(), "err", err)
	}
	target, known := history.Find(done.After)
	return func(pod *corev1.Pod) bool { return known && target.Made(pod.Labels) }
}

// await waits for the objects, and writes back what those had before that failed.
func (o *templateChange) await(ctx context.Context, all []written) []error {
	waits := make([]observe.WaitTarget, 0, len(all))
	for _, w := range all {
		waits = append(waits, w.wait)
	}
	errs := o.awaitAll(ctx, *o.print.OutputFormat, o.limits, waits)
	if !o.undoOnFailure || len(errs) < len(all) {
		return errs
	}
	for i, w := range all {
		if errors.Is(errs[i], outcome.ErrFailed) && w.done.Change != "" {
			errs[i] = o.undo(ctx, w, errs[i])
		}
	}
	return errs
}

// undo writes back what an object had before it failed, unless somebody else has changed
// that meanwhile. The error is that of the failure, with what was done about it.
func (o *templateChange) undo(ctx context.Context, w written, failure error) error {
	t := w.wait.Target
	t.Object = nil // as it is now
	undone, err := rollout.Write(ctx, t.Resource(o.finder.Dynamic), t, rollout.Request{
		By: o.by, FieldManager: o.fieldManager,
		Want: func(obj *unstructured.Unstructured) ([]revision.Field, string, error) {
			if obj.GetUID() != w.done.Object.GetUID() {
				return nil, "", errors.New("another object has its name now")
			}
			now, err := revision.FieldsAt(obj.Object, revision.Paths(w.done.After))
			if err != nil {
				return nil, "", err
			}
			if !revision.Same(now, w.done.After) {
				return nil, "", errors.New("someone else has changed it meanwhile")
			}
			return w.done.Before, "undo of " + w.done.Change, nil
		},
	})
	if err != nil {
		return fmt.Errorf("%w\n%s was not undone: %w", failure, t, err)
	}
	err = fmt.Errorf("%w\n%s undone: %s", outcome.WithoutHints(failure), t, escape.Line(undone.Change))
	if remove, stuck := o.stuck(ctx, t); stuck {
		return outcome.WithHint(err, hintStuck, remove)
	}
	return err
}

const hintStuck = "a StatefulSet waits for pods that are not ready before it replaces them"

// stuck is the command that deletes the pods of a StatefulSet that somebody must delete. Its controller waits
// until a pod is ready before it replaces one, also where another template could mend it
// (https://github.com/kubernetes/kubernetes/issues/67250).
func (o *templateChange) stuck(ctx context.Context, t observe.Target) (remove commandline.Command, is bool) {
	if t.Kind.CRD() != "statefulsets.apps" {
		return commandline.Command{}, false
	}
	t.Object = nil // as it is now
	snapshot, t, err := observe.ReadTree(ctx, o.clients, t)
	if err != nil {
		klog.FromContext(ctx).V(1).Info("Cannot check for stuck pods", "object", t.String(), "err", err)
		return commandline.Command{}, false
	}
	if policy, _, err := unstructured.NestedString(t.Object.Object, "spec", "podManagementPolicy"); err != nil || policy == string(appsv1.ParallelPodManagement) {
		return commandline.Command{}, false
	}
	var stuck []string
	for _, pod := range status.NewReport(snapshot).Pods {
		if !pod.Ready && pod.Code != "" {
			stuck = append(stuck, pod.Name)
		}
	}
	if len(stuck) == 0 {
		return commandline.Command{}, false
	}
	return commandline.Kubectl("delete", "pod").With(stuck...).In(t.Namespace), true
}
