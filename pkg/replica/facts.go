package replica

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis/batch/v1alpha1"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// Facts reads from an object what a verdict is made of.
func (k Kind) Facts(obj *unstructured.Unstructured) (status.Object, error) {
	o := status.Object{
		Type:       k.String(),
		Namespace:  obj.GetNamespace(),
		Name:       obj.GetName(),
		UID:        obj.GetUID(),
		Created:    obj.GetCreationTimestamp().Time,
		Deleting:   obj.GetDeletionTimestamp() != nil,
		Generation: obj.GetGeneration(),
		Desired:    k.Desired(obj),
	}
	fields, _, err := unstructured.NestedMap(obj.Object, "status")
	if err != nil {
		return o, fmt.Errorf("read the status of %s: %w", o.Name, err)
	}
	var s v1alpha1.ImoocPodStatus
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &s); err != nil {
		return o, fmt.Errorf("read the status of %s: %w", o.Name, err)
	}
	o.ObservedGeneration, o.Current, o.Ready, o.Conditions = s.ObservedGeneration, s.Replicas, s.ReadyReplicas, s.Conditions
	return o, nil
}
