package strategy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// RevisionSource returns a source that watches the revisions with the owner label. With every strategy, revisions hold
// an object's templates.
func RevisionSource(c Clients) informer.Source {
	s := childSource(c, plan.KindRevision, "revision", revisionOf, revisionsEqual)
	s.Selector = apis.LabelOwner
	return s
}

func revisionsEqual(a, b plan.Revision) bool {
	a.ResourceVersion, b.ResourceVersion = "", ""
	return a == b
}

// revisionOf returns the part of a revision that plans read. It omits the data, which contains the template.
func revisionOf(u *unstructured.Unstructured) plan.Revision {
	r := plan.Revision{
		Name: u.GetName(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(), Number: revisionNumber(u),
	}
	if ref := metav1.GetControllerOfNoCopy(u); ref != nil {
		r.Template = plan.RevisionTemplate(r.Name, ref.Name, ref.UID)
	}
	return r
}

func revisionNumber(u *unstructured.Unstructured) int64 {
	number, _, _ := unstructured.NestedInt64(u.Object, "revision") // 0 if the field is not a number
	return number
}

// ReadRevisions adds to a view the revisions that the object controls, and sets HistoryKnown.
func ReadRevisions(v *plan.View, obj *unstructured.Unstructured, store cache.Indexer) {
	v.HistoryKnown = true
	v.Revisions = childrenOf[plan.Revision](obj, store, ByOwner)
}

// revisionFields returns the fields of a revision. A patch removes a copied annotation that the owner no longer has.
func revisionFields(w *Work, op plan.Operation) map[string]any {
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
		fields["data"] = kinds.RevisionData(w.Kind, w.Object)
	}
	return fields
}
