package strategy

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// pods returns the strategy that runs numbered pods, which the object itself controls.
func pods() *Strategy {
	return &Strategy{Plan: plan.Pods, PodIndex: ByOwner, complete: completePods}
}

// completePods sets the removed slots of the object. If the annotation is invalid, the object is
// invalid, so that a typo neither deletes a pod nor fills a slot.
func completePods(o *plan.Owner, _ kinds.Kind, obj *unstructured.Unstructured, _ map[string]any) {
	var err error
	if o.Removed, err = slots.ParseRemoved(obj.GetAnnotations()[apis.AnnotationRemovedSlots]); err != nil && o.Invalid == "" {
		o.Invalid = fmt.Sprintf("the annotation %s cannot be read: %v", apis.AnnotationRemovedSlots, err)
	}
}
