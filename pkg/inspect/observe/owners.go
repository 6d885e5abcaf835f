package observe

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// ownPods reports whether this program creates the pods of a kind, with a label that finds
// them.
func ownPods(kind kinds.Kind) bool {
	// Objects of a declared kind may have pods of an earlier controller.
	return kind.Shipped() && kind.Mapping.Strategy.OwnsPods()
}

// podSelector returns a selector that matches the pods of an object: the label of this
// program or, for workloads of apps/v1 and the like, their own selector, because they
// release pods that do not match. Otherwise, it matches everything.
func podSelector(kind kinds.Kind, obj *unstructured.Unstructured) string {
	if ownPods(kind) {
		return apis.LabelOwner + "=" + string(obj.GetUID())
	}
	selector := Selector(obj)
	if selector == nil || selector.Empty() {
		return ""
	}
	// In another kind, the field may have another meaning.
	template, _, err := unstructured.NestedStringMap(obj.Object, "spec", "template", "metadata", "labels")
	if err != nil || !selector.Matches(labels.Set(template)) {
		return ""
	}
	return selector.String()
}

// Selector returns the .spec.selector of an object, nil if it has no label selector there.
func Selector(obj *unstructured.Unstructured) labels.Selector {
	fields, _, err := unstructured.NestedMap(obj.Object, "spec", "selector")
	if err != nil || fields == nil {
		return nil
	}
	var selector metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(fields, &selector, true); err != nil {
		return nil
	}
	parsed, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil {
		return nil
	}
	return parsed
}

// childSelector returns a selector that matches the children of an object. A Deployment
// releases ReplicaSets that do not match its selector.
func childSelector(kind kinds.Kind, obj *unstructured.Unstructured, child schema.GroupVersionKind) string {
	if isDeployment(kind) && child == replicaSets() {
		return podSelector(kind, obj)
	}
	return ""
}

// childKinds returns the kinds of children that objects of a kind may have. For kinds of
// other programs, only an owner reference shows a child without pods.
func childKinds(kind kinds.Kind) []schema.GroupVersionKind {
	switch {
	case !kind.Reconciled() && !kind.BuiltIn():
		return podMakers()
	case isDeployment(kind):
		return []schema.GroupVersionKind{replicaSets()}
	}
	return nil
}

// podMakers returns the kinds that create pods for others.
func podMakers() []schema.GroupVersionKind {
	apps := appsv1.SchemeGroupVersion
	return []schema.GroupVersionKind{replicaSets(), apps.WithKind("StatefulSet"), apps.WithKind("DaemonSet"), apps.WithKind("Deployment")}
}

func replicaSets() schema.GroupVersionKind { return appsv1.SchemeGroupVersion.WithKind("ReplicaSet") }

func isDeployment(kind kinds.Kind) bool {
	return kind.Resource == appsv1.SchemeGroupVersion.WithResource("deployments")
}
