package kinds

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// LabelsPods reports whether this program creates all pods of the kind, and labels them with the UID of their owner.
func (k Kind) LabelsPods() bool {
	// Objects of a declared kind may have pods from an earlier controller.
	return k.Shipped() && k.Mapping.Strategy.OwnsPods()
}

// PodSelector returns a selector that matches all pods of an object. If this program creates the pods, the
// selector matches the owner label. For workloads of apps/v1 and similar kinds, it is .spec.selector,
// because their controllers release pods that do not match. Otherwise, it is "", which matches everything.
func (k Kind) PodSelector(obj *unstructured.Unstructured) string {
	if k.LabelsPods() {
		return apis.LabelOwner + "=" + string(obj.GetUID())
	}
	selector := Selector(obj)
	template, _, err := unstructured.NestedStringMap(obj.Object, "spec", "template", "metadata", "labels")
	if selector == nil || err != nil || !selector.Matches(labels.Set(template)) {
		return "" // in a custom kind, .spec.selector may have another meaning
	}
	return selector.String()
}

// Selector returns the .spec.selector of an object, or nil if it is not a valid label selector.
func Selector(obj *unstructured.Unstructured) labels.Selector {
	fields := fieldpath.Object(obj.Object, "spec", "selector")
	if fields == nil {
		return nil
	}
	var selector metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(fields, &selector, true); err != nil {
		return nil
	}
	parsed, _ := metav1.LabelSelectorAsSelector(&selector) // nil if it is not valid
	return parsed
}
