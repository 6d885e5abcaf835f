package cmd

import (
	"context"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/revision"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// templateChange is what "set" and "undo" share, which change what the pods of an object are
// made from.
type templateChange struct {
	changeOptions
	reason string
	// by is the name under which the server knows who makes the change.
	by string
}

// wanted computes the fields that a verb wants of an object as it is, and the cause of
// the change, as rollout.Request has it.
type wanted = func(obj *unstructured.Unstructured) ([]revision.Field, string, error)

func newTemplateChange(common commonOptions, done string) templateChange {
	return templateChange{changeOptions: newChangeOptions(common, done)}
}

func (o *templateChange) addFlags(cmd *cobra.Command) {
	o.changeOptions.addFlags(cmd, "Wait until the objects have pods of the new template and are ready.")
	o.addManagerFlag(cmd)
	addReasonFlag(cmd, &o.reason)
}

func addReasonFlag(cmd *cobra.Command, reason *string) {
	cmd.Flags().StringVar(reason, "reason", "", "Why the object is changed, which \"history\" shows. The default says what changes.")
}

// run changes all objects in the way that want computes for each, and waits for them if
// that was asked for.
func (o *templateChange) run(ctx context.Context, want func(context.Context, observe.Target) (wanted, error)) error {
	targets, errs := o.begin(ctx)
	if len(targets) > 0 {
		o.by = o.clients.User(ctx)
	}
	// All are written before any is waited for.
	all, failed := each(targets, func(t observe.Target) (change, error) { return o.change(ctx, t, want) })
	errs = append(errs, failed...)
	return outcome.Join(append(errs, o.follow(ctx, all)...))
}

// change changes one object, and says what changed.
func (o *templateChange) change(ctx context.Context, t observe.Target, want func(context.Context, observe.Target) (wanted, error)) (change, error) {
	if err := t.Read(ctx, o.finder.Dynamic); err != nil {
		return change{}, err
	}
	compute, err := want(ctx, t)
	if err != nil {
		return change{}, err
	}
	o.warnPaused(t, t.Object)
	before, err := o.readBefore(ctx, t)
	if err != nil {
		return change{}, err
	}
	done, err := template.Write(ctx, t.Resource(o.finder.Dynamic), t, o.request(compute))
	if err != nil {
		return change{}, err
	}
	if done.Change != "" {
		o.warn(t, done)
	}
	if err := o.say(t, done); err != nil {
		return change{}, err
	}
	if o.dryRun == "none" && done.Change != "" {
		if stuck := o.stuckPods(ctx, t); stuck != nil {
			o.tell("hint: %s: %s", stuckHint, o.line(*stuck))
		}
	}
	if !o.waits() {
		o.loops.warn(ctx, t)
	}
	c := change{written: done.Written, WaitTarget: observe.WaitTarget{
		Target: t, UID: done.Object.GetUID(), Since: done.Object.GetResourceVersion(),
		Conditions: []observe.Condition{o.condition(ctx, t, before, done)},
	}}
	c.Target.Object = done.Object
	if done.Change != "" {
		c.revert = func(ctx context.Context) (string, error) { return o.revert(ctx, c.Target, done) }
		if o.waits() && status.NewReport(before).Verdict.Settled() {
			c.back = new(commandline.Plugin("undo", argumentOf(t)).In(t.Namespace))
		}
	}
	return c, nil
}

// revert writes back what an object had before a change.
func (o *templateChange) revert(ctx context.Context, t observe.Target, done template.Result) (string, error) {
	marks := template.Annotations("undo of "+done.Change, o.by)
	marks = append(marks, o.failedRevision(ctx, t, done)...)
	_, err := edit.Revert(ctx, t.Resource(o.finder.Dynamic), done.Written, marks, o.edits())
	return revision.Change(done.After, done.Before), err
}

// failedRevision records the revision that never became ready, if its number is known.
func (o *templateChange) failedRevision(ctx context.Context, t observe.Target, done template.Result) []fieldpath.Edit {
	history, err := template.History(ctx, o.finder.Dynamic, t)
	if err != nil {
		klog.FromContext(ctx).V(1).Info("Cannot record the revision that failed", "object", t.String(), "err", err)
		return nil
	}
	failed, known := history.Find(done.After)
	if !known {
		return nil
	}
	return []fieldpath.Edit{{Path: fieldpath.Fields("metadata", "annotations", apis.AnnotationFailedRevision), Value: strconv.FormatInt(failed.Number, 10)}}
}

func (o *templateChange) request(want wanted) template.Request {
	return template.Request{
		By: o.by, Options: o.edits(),
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
func (o *templateChange) warn(t observe.Target, done template.Result) {
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
func (o *templateChange) say(t observe.Target, done template.Result) error {
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
func (o *templateChange) condition(ctx context.Context, t observe.Target, before status.Snapshot, done template.Result) observe.Condition {
	if !o.waits() || done.Change == "" || kinds.InPlace(t.Object) {
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
func madeSince(done template.Result) func(*corev1.Pod) bool {
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
func (o *templateChange) madeFrom(ctx context.Context, t observe.Target, done template.Result) func(*corev1.Pod) bool {
	history, err := template.History(ctx, o.finder.Dynamic, t)
	if err != nil {
		klog.FromContext(ctx).V(1).Info("All pods are waited for to be replaced", "object", t.String(), "err", err)
	}
	target, known := history.Find(done.After)
	return func(pod *corev1.Pod) bool { return known && target.Made(pod.Labels) }
}
