package strategy

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// pods keeps a number of pods, which the object owns directly.
func pods() *Strategy {
	return &Strategy{
		Plan: plan.Pods, PodIndex: ByOwner,
		complete: completePods,
	}
}

// completePods reads the slots that the object has given up, and tells the templates of
// pods apart. Slots that cannot be read make the object invalid: whichever pods there
// are, none is deleted, and no slot is filled, because of a misprint.
func completePods(v *plan.Owner, kind kinds.Kind, obj *unstructured.Unstructured, template map[string]any) {
	var err error
	if v.Removed, err = slots.ParseRemoved(obj.GetAnnotations()[apis.AnnotationRemovedSlots]); err != nil && v.Invalid == "" {
		v.Invalid = fmt.Sprintf("the annotation %s cannot be read: %v", apis.AnnotationRemovedSlots, err)
	}
	hashTemplate(v, kind, obj, template)
}

// hashTemplate tells templates apart.
func hashTemplate(v *plan.Owner, kind kinds.Kind, obj *unstructured.Unstructured, _ map[string]any) {
	if v.Problem == "" { // else what is replaced could not be made again
		v.TemplateHash = kinds.TemplateHash(kind, obj)
	}
}
