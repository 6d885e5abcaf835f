package strategy

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// RevisionResource is the built-in ControllerRevision. The loop writes one for each
// template that an object had, whatever the strategy of its kind.
func RevisionResource() schema.GroupVersionResource {
	return appsv1.SchemeGroupVersion.WithResource("controllerrevisions")
}

// RevisionRecord is what the loop keeps of a revision: all but the template.
type RevisionRecord struct {
	metav1.ObjectMeta
	plan plan.Revision
}

// RevisionSource watches the revisions that carry the loop's identity label.
func RevisionSource(c Clients) informer.Source {
	revisions := c.Dynamic.Resource(RevisionResource()).Namespace(c.Namespace)
	return informer.Source{
		Resource: RevisionResource().Resource,
		List:     informer.Lists(revisions.List),
		Watch:    revisions.Watch,
		Selector: apis.LabelOwner,
		Client:   c.Dynamic, Example: &unstructured.Unstructured{}, Trim: trimRevision,
		Indexers: cache.Indexers{ByOwner: IndexByOwner},
	}
}

// trimRevision makes the record of a revision before it is stored.
func trimRevision(obj any) (any, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, nil // already trimmed, or a tombstone
	}
	r := &RevisionRecord{
		ObjectMeta: metav1.ObjectMeta{Name: u.GetName(), Namespace: u.GetNamespace(), ResourceVersion: u.GetResourceVersion()},
		plan:       plan.Revision{Name: u.GetName(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(), Number: revisionNumber(u)},
	}
	if ref := metav1.GetControllerOfNoCopy(u); ref != nil {
		r.OwnerReferences = []metav1.OwnerReference{*ref}
		r.plan.Template = plan.RevisionTemplate(r.Name, ref.Name, ref.UID)
	}
	return r, nil
}

// revisionNumber is the number of a revision, 0 where it has none.
func revisionNumber(u *unstructured.Unstructured) int64 {
	number, _, err := unstructured.NestedInt64(u.Object, "revision")
	if err != nil {
		return 0
	}
	return number
}

// Template is the hash of the template that the revision keeps.
func (r *RevisionRecord) Template() string { return r.plan.Template }

// Moved reports whether the history is no more as a plan leaves it: that of the present
// template has another number than before and not a higher one, or another one has.
func (r *RevisionRecord) Moved(old *RevisionRecord, current bool) bool {
	return r.plan.Number < old.plan.Number || !current && r.plan.Number > old.plan.Number
}

// ReadRevisions puts the revisions that an object controls into its view.
func ReadRevisions(v *plan.View, obj *unstructured.Unstructured, store cache.Indexer) error {
	found, err := store.ByIndex(ByOwner, string(obj.GetUID()))
	if err != nil {
		return fmt.Errorf("find the revisions of %s: %w", obj.GetName(), err)
	}
	v.HistoryKnown = true
	for _, revision := range found {
		if r, ok := revision.(*RevisionRecord); ok && r.Namespace == obj.GetNamespace() {
			v.Revisions = append(v.Revisions, r.plan)
		}
	}
	return nil
}

// revisionFields returns the fields of the revision of the owner's template, with who
// changed the template and why. A patch removes what the owner does not say.
func revisionFields(w *Work, op plan.Operation) (map[string]any, error) {
	annotations := map[string]any{}
	for _, name := range []string{apis.AnnotationChangeCause, apis.AnnotationChangedBy} {
		if value, found := w.Object.GetAnnotations()[name]; found {
			annotations[name] = value
		} else if op.Verb == plan.Patch {
			annotations[name] = nil
		}
	}
	labels := map[string]any{apis.LabelOwner: string(w.Owner.UID), apis.LabelTemplateHash: w.Of.TemplateHash}
	fields := map[string]any{
		"metadata": map[string]any{"labels": labels, "annotations": annotations},
		"revision": op.Number,
	}
	if op.Verb == plan.Create {
		data, err := kinds.RevisionData(w.Kind, w.Object)
		if err != nil {
			return nil, err
		}
		fields["data"] = data
	}
	return fields, nil
}
