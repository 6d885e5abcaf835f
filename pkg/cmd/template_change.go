package cmd

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/podtemplate"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/revision"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
)

// wanted is a function that returns the fields that a verb wants for the current object, and the
// cause of the change, as in template.Request.
type wanted = func(obj *unstructured.Unstructured) ([]revision.Field, string, error)

// changeTemplate changes the fields that the pods of a target are made from. If a reason is given,
// it replaces the cause.
func (c *changer) changeTemplate(ctx context.Context, t *observe.Target, want wanted) (*change, error) {
	c.warnPaused(t)
	before, err := c.readBefore(ctx, t)
	if err != nil {
		return nil, err
	}
	c.beginWarning(t)
	done, err := template.Write(ctx, t.Resource(c.finder.Dynamic), *t, template.Request{
		By: c.user(), Options: c.edits(),
		Want: func(obj *unstructured.Unstructured) ([]revision.Field, string, error) {
			fields, cause, err := want(obj)
			return fields, cmp.Or(c.flags.reason, cause), err
		},
	})
	if err != nil {
		return nil, err
	}
	t.Object = done.Object
	made := c.edited(t, done.Written, c.rolledOut(ctx, t, before, done), revision.Change(done.After, done.Before), func(ctx context.Context) []fieldpath.Edit {
		return append(template.Annotations(revision.Change(done.After, done.Before)+" (undo)", c.user()), c.failedRevision(ctx, t, done)...)
	})
	if done.Change == "" {
		made.revert = nil
		made.unchanged = true
		return made, nil
	}
	made.said = done.Change
	for _, warning := range revision.Overwriters(t.Object, revision.Paths(changedFields(done))) {
		c.tell("Warning: %s: %s", t, warning)
	}
	if c.flags.dryRun != "none" {
		return made, printer.DiffYAML(c.streams.ErrOut, t.String(), t.String()+" (dry run)", revision.Object(done.Before), revision.Object(done.After))
	}
	if stuck := c.stuckPods(ctx, *t); stuck != nil {
		made.notes = []string{"hint: " + stuckHint + ": " + c.line(*stuck)}
	}
	if c.waits && status.NewReport(before).Verdict.Settled() {
		made.back = new(commandOn("undo", t))
	}
	return made, nil
}

// failedRevision returns the edit that marks the revision of a failed change, if its number
// is known.
func (c *changer) failedRevision(ctx context.Context, t *observe.Target, done template.Result) []fieldpath.Edit {
	failed, known := c.revisionOf(ctx, t, done)
	if !known {
		return nil
	}
	return []fieldpath.Edit{{Path: fieldpath.Fields("metadata", "annotations", apis.AnnotationFailedRevision), Value: strconv.FormatInt(failed.Number, 10)}}
}

// revisionOf returns the revision that a change has created, if there is one.
func (c *changer) revisionOf(ctx context.Context, t *observe.Target, done template.Result) (revision.Revision, bool) {
	history, err := template.History(ctx, c.finder.Dynamic, *t)
	if err != nil {
		klog.FromContext(ctx).V(1).Info("Cannot read the revision of a change", "object", t.String(), "err", err)
	}
	return history.Find(done.After)
}

func changedFields(done template.Result) []revision.Field {
	var changed []revision.Field
	for i, f := range done.After {
		if !revision.Same(done.Before[i:i+1], done.After[i:i+1]) {
			changed = append(changed, f)
		}
	}
	return changed
}

// rolledOut returns the condition to wait for after a change. For built-in kinds and kinds that
// this program reconciles, the status or labels show whether all pods are updated. For other
// kinds, and for a restart time in the object's own annotations, all pods from before the change
// must be gone, except those that already match the change.
func (c *changer) rolledOut(ctx context.Context, t *observe.Target, before status.Snapshot, done template.Result) observe.Condition {
	if !c.waits || done.Change == "" || podtemplate.InPlace(t.Object) {
		return observe.Ready()
	}
	made := madeSince(done)
	switch {
	case made != nil:
	case t.Kind.Reconciled() || t.Kind.BuiltIn():
		return observe.Ready()
	default:
		current, known := c.revisionOf(ctx, t, done)
		have, _ := template.Made(ctx, c.finder.Dynamic, t.Namespace, done) // on an error, all old pods must go
		made = func(pod *corev1.Pod) bool { return have[pod.UID] || known && current.Made(pod.Labels) }
	}
	old := status.NewReport(before).Pods
	for _, pod := range before.Pods.Objects() {
		if made(pod) {
			old = slices.DeleteFunc(old, func(p problem.Pod) bool { return p.UID == pod.UID })
		}
	}
	if len(old) == 0 {
		return observe.Ready()
	}
	return observe.Replaced(old)
}

// madeSince returns a function that reports whether a pod has the new restart time, for a change
// that only sets such a time in the object's own annotations, which its pods inherit. For any other
// change, it returns nil.
func madeSince(done template.Result) func(*corev1.Pod) bool {
	at := ""
	for _, f := range changedFields(done) {
		if f.Path.Steps[0].Name != "metadata" {
			return nil
		}
		at, _ = f.Value.(string)
	}
	return func(pod *corev1.Pod) bool { return pod.Annotations[apis.AnnotationRestartedAt] == at }
}
