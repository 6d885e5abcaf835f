package strategy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
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

// record writes the revisions of the plan. Nothing is made from a template before its
// revision is there, so that a loop which dies at any moment leaves a history that is
// right. Without it things go on all the same where the server refuses it.
func (w *Work) record(ctx context.Context, o *Outcome) error {
	h := w.Plan.History
	if h.Number > 0 {
		if err := w.recordTemplate(ctx, h, o); err != nil {
			return err
		}
	}
	for _, r := range h.Delete {
		if o.Unrecorded != "" {
			return nil
		}
		w.deleteRevision(ctx, r, o)
	}
	return nil
}

// recordTemplate makes the owner's template that of the newest revision.
func (w *Work) recordTemplate(ctx context.Context, h plan.History, o *Outcome) error {
	ctx, cancel := Finish(ctx)
	defer cancel()
	var now *unstructured.Unstructured
	var err error
	if h.Existing != nil {
		now, err = w.renumber(ctx, *h.Existing, h.Number)
	} else {
		now, err = w.createRevision(ctx, h.Number)
	}
	switch {
	case err == nil:
		o.RevisionsWritten = now.GetResourceVersion()
		return nil
	case errors.Is(err, ErrConflict):
		return err
	case namespaceEnds(err):
		o.Ending = true
		return nil
	}
	_, refused := RefusalReason(err)
	o.FailingRevision = !answered(err)
	if refused || o.FailingRevision && w.FailingRevision+1 >= w.MaxFailing {
		o.Unrecorded = serverWords(err)
		return nil
	}
	return fmt.Errorf("write revision %d of the pod template: %w", h.Number, err)
}

// revisions is the client for those of the namespace.
func (w *Work) revisions() dynamic.ResourceInterface {
	return w.Dynamic.Resource(RevisionResource()).Namespace(w.Namespace)
}

func (w *Work) createRevision(ctx context.Context, number int64) (*unstructured.Unstructured, error) {
	data, err := kinds.RevisionData(w.Kind, w.Object)
	if err != nil {
		return nil, err
	}
	revision := &unstructured.Unstructured{Object: map[string]any{"revision": number, "data": data}}
	revision.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ControllerRevision"))
	revision.SetName(plan.RevisionName(w.Owner.Name, w.Owner.UID, w.Of.TemplateHash))
	revision.SetLabels(w.revisionLabels())
	revision.SetOwnerReferences([]metav1.OwnerReference{w.Owner})
	annotations := map[string]string{}
	for name, value := range w.cause() {
		if text, ok := value.(string); ok {
			annotations[name] = text
		}
	}
	revision.SetAnnotations(annotations)
	made, err := w.revisions().Create(ctx, revision, metav1.CreateOptions{FieldManager: kinds.FieldManager})
	if apierrors.IsAlreadyExists(err) {
		return w.meetRevision(ctx, revision)
	}
	return made, err
}

// revisionLabels are those by which the loop finds the revision of the owner's template.
func (w *Work) revisionLabels() map[string]string {
	return map[string]string{apis.LabelOwner: string(w.Owner.UID), apis.LabelTemplateHash: w.Of.TemplateHash}
}

// cause is what the owner says of why its template is as it is, and of who made it so;
// nil: it does not say.
func (w *Work) cause() map[string]any {
	cause := map[string]any{}
	for _, name := range []string{apis.AnnotationChangeCause, apis.AnnotationChangedBy} {
		if value, said := w.Object.GetAnnotations()[name]; said {
			cause[name] = value
		} else {
			cause[name] = nil
		}
	}
	return cause
}

// meetRevision looks at the revision that has the name of the one to be created. Ours
// is one that an earlier attempt or another loop made: the cache has yet to see it, or
// cannot, where somebody took its label. Anybody else's is left alone.
func (w *Work) meetRevision(ctx context.Context, want *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	holder, err := w.revisions().Get(ctx, want.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, ErrConflict // it disappeared meanwhile
	}
	if err != nil {
		return nil, err
	}
	ref := metav1.GetControllerOf(holder)
	if ref == nil || ref.UID != w.Owner.UID {
		return nil, apierrors.NewBadRequest(plan.NameTaken(w.Kind.Kind, "ControllerRevision "+holder.GetName(), ownedBy(ref)))
	}
	if _, seen := holder.GetLabels()[apis.LabelOwner]; seen {
		return holder, nil
	}
	number := max(revisionNumber(want), revisionNumber(holder))
	return w.renumber(ctx, plan.Revision{Name: holder.GetName(), UID: holder.GetUID(), ResourceVersion: holder.GetResourceVersion()}, number)
}

// renumber makes a revision the newest one, if it is still as it was seen.
func (w *Work) renumber(ctx context.Context, r plan.Revision, number int64) (*unstructured.Unstructured, error) {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{
			"uid": r.UID, "resourceVersion": r.ResourceVersion, // preconditions
			"annotations": w.cause(), "labels": w.revisionLabels(),
		},
		"revision": number,
	})
	if err != nil {
		return nil, err
	}
	now, err := w.revisions().Patch(ctx, r.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: kinds.FieldManager})
	if apierrors.IsConflict(err) || (apierrors.IsNotFound(err) && !namespaceEnds(err)) {
		return nil, ErrConflict
	}
	return now, err
}

// deleteRevision deletes a revision that is too old, if it is still as it was seen: it
// may have become the newest again. That it could not be deleted is no reason to stop.
func (w *Work) deleteRevision(ctx context.Context, r plan.Revision, o *Outcome) {
	ctx, cancel := Finish(ctx)
	defer cancel()
	err := w.revisions().Delete(ctx, r.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &r.UID, ResourceVersion: &r.ResourceVersion},
	})
	switch _, refused := RefusalReason(err); {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err):
	case refused:
		o.Unrecorded = serverWords(err)
	default:
		o.fail(fmt.Errorf("delete revision %d: %w", r.Number, err))
	}
}
