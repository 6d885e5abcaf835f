// Package template reads the revisions of an object, and finds and changes the fields of its pod template.
package template

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/revision"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// History returns the revisions of a target: the ControllerRevisions and numbered ReplicaSets that it
// controls. If there are none, it returns an error with the reason. t.Object must be set.
func History(ctx context.Context, client dynamic.Interface, t observe.Target) (revision.History, error) {
	if t.Namespace == "" {
		return revision.History{}, fmt.Errorf("%s has no history: revisions are kept in namespaces, and it is in none", t)
	}
	var all []revision.Revision
	for _, resource := range resources(t.Kind) {
		found, err := revisions(ctx, client.Resource(resource).Namespace(t.Namespace), t)
		if err != nil {
			return revision.History{}, fmt.Errorf("read the %s of %s: %w", resource.Resource, t, err)
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return revision.History{}, fmt.Errorf("%s has no history: %s", t, whyNone(t))
	}
	newest := slices.MaxFunc(all, func(a, b revision.Revision) int { return cmp.Compare(a.Number, b.Number) })
	now, err := revision.FieldsAt(t.Object.Object, newest.Fields)
	if err != nil {
		return revision.History{}, fmt.Errorf("%s: %w", t, err)
	}
	annotations := t.Object.GetAnnotations()
	if changedSince(t.Object, now) {
		annotations = nil
	}
	return revision.NewHistory(all, now, annotations[apis.AnnotationChangedBy], annotations[apis.AnnotationChangeCause]), nil
}

// changedSince reports whether a field was written after the annotations that record the last change.
// Some tools do not update these annotations.
func changedSince(obj *unstructured.Unstructured, fields []revision.Field) bool {
	_, recorded := fieldpath.Annotation(apis.AnnotationChangeCause).Manager(obj)
	return !recorded.IsZero() && slices.ContainsFunc(fields, func(f revision.Field) bool {
		_, written := f.Path.Manager(obj)
		return written.After(recorded)
	})
}

// resources returns the resources that may contain the revisions of a kind.
func resources(kind kinds.Kind) []schema.GroupVersionResource {
	controllerRevisions := appsv1.SchemeGroupVersion.WithResource("controllerrevisions")
	replicaSets := appsv1.SchemeGroupVersion.WithResource("replicasets")
	switch {
	case kind.CRD() == kinds.Deployments || kind.CRD() == "rollouts.argoproj.io":
		return []schema.GroupVersionResource{replicaSets}
	case kind.Reconciled() || kind.BuiltIn():
		return []schema.GroupVersionResource{controllerRevisions}
	}
	return []schema.GroupVersionResource{controllerRevisions, replicaSets}
}

// revisions returns the revisions that a target controls, according to their owner references. Names are
// not enough, because an object of another kind, or a deleted object, may have the same name.
func revisions(ctx context.Context, objects dynamic.ResourceInterface, t observe.Target) ([]revision.Revision, error) {
	var declared []revision.Field
	if t.Kind.Reconciled() {
		for _, names := range t.Kind.RevisionPaths() {
			declared = append(declared, revision.Field{Path: fieldpath.Fields(names...)})
		}
	}
	list, err := follow.List(ctx, objects, metav1.ListOptions{LabelSelector: selector(t)})
	if err != nil {
		return nil, err
	}
	var all []revision.Revision
	for _, obj := range list {
		if !metav1.IsControlledBy(obj, t.Object) {
			continue
		}
		r, err := revision.Read(obj, declared)
		if err == nil && !t.Kind.Reconciled() {
			err = missingFrom(t.Object, r.Fields)
		}
		if err != nil {
			klog.FromContext(ctx).V(1).Info("A revision is left out", "name", obj.GetName(), "err", err)
			continue
		}
		all = append(all, r)
	}
	return all, nil
}

func missingFrom(obj *unstructured.Unstructured, fields []revision.Field) error {
	for _, f := range fields {
		if value, err := f.Path.Value(obj.Object); err == nil && value == nil {
			return fmt.Errorf("the object has no %s", f.Path)
		}
	}
	return nil
}

// selector returns a label selector for the revisions of a target: the owner label for reconciled kinds or, as in
// "kubectl rollout history", the object's own selector for built-in kinds. Otherwise, "" selects everything.
func selector(t observe.Target) string {
	if t.Kind.Reconciled() {
		return apis.LabelOwner + "=" + string(t.Object.GetUID())
	}
	if own := kinds.Selector(t.Object); own != nil && t.Kind.BuiltIn() {
		return own.String()
	}
	return ""
}

func whyNone(t observe.Target) string {
	limit, found, err := unstructured.NestedInt64(t.Object.Object, "spec", "revisionHistoryLimit")
	switch {
	case err == nil && found && limit == 0:
		return "its .spec.revisionHistoryLimit is 0"
	case t.Kind.Reconciled():
		return "run-controller writes a revision when it reconciles the object, and has not done so yet"
	case t.Kind.BuiltIn() && !t.Kind.RollsOut():
		return "only Deployments, StatefulSets, and DaemonSets have revisions"
	case t.Kind.BuiltIn():
		return "its controller has not written a revision yet"
	}
	return "its controller keeps no ControllerRevisions and no numbered ReplicaSets"
}
