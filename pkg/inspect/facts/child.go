package facts

import (
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/words"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// Child returns the model of an object between a target and its pods, such as a ReplicaSet.
func Child(obj *unstructured.Unstructured) status.Child {
	child := status.Child{
		APIVersion: obj.GetAPIVersion(), Kind: obj.GetKind(), Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID(), Created: obj.GetCreationTimestamp().Time,
		Managers: obj.GetManagedFields(), Generation: obj.GetGeneration(),
		Controller: ptr.Deref(metav1.GetControllerOfNoCopy(obj), metav1.OwnerReference{}).UID,
	}
	child.Revision, _ = strconv.ParseInt(obj.GetAnnotations()["deployment.kubernetes.io/revision"], 10, 64)
	child.Conditions = words.Conditions(fieldpath.Object(obj.Object, "status")["conditions"])
	plural, singular := meta.UnsafeGuessKindToResource(obj.GroupVersionKind())
	kind := kinds.Kind{Kind: obj.GetKind(), Singular: singular.Resource, Resource: plural}
	facts, _ := New(kind, kinds.Source{}, nil) // only an annotation of a CRD can be invalid
	desired, _ := kind.Desired(obj)            // an invalid count becomes zero
	o := status.Object{Counts: status.Counts{Desired: desired}, Evidence: status.Evidence{Generation: child.Generation, Conditions: child.Conditions}}
	o.BuiltIn = kind.BuiltIn()
	facts.read(&o, obj.Object)
	child.ObservedGeneration, child.Tracked = o.ObservedGeneration, !o.Untracked && o.Generation > 0
	_, counted := wholeAt(obj.Object, ".spec.replicas")
	if !kind.BuiltIn() {
		// Without a schema, it is unknown whether an absent field means zero or is never written.
		child.Tracked = child.Tracked && o.ObservedGeneration > 0
		counted = counted && !o.ReadyUnknown
	}
	if !counted && len(facts.Desired) == 0 {
		return child
	}
	facts.partition(&o, obj.Object)
	child.Desired, child.Current, child.Ready = new(o.Desired), new(o.Current), new(o.Ready)
	child.Available, child.UpdatedWanted = o.Available, o.UpdatedWanted
	if kind.BuiltIn() {
		child.Updated = o.Updated
	}
	return child
}
