package strategy

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// pods keeps a number of pods, which the object owns directly.
func pods() *Strategy {
	return &Strategy{
		Plan: plan.Pods, PodIndex: ByOwner,
		complete: hashTemplate,
		create:   createPod, delete: deletePod,
	}
}

// hashTemplate tells templates apart.
func hashTemplate(v *plan.Owner, kind kinds.Kind, obj *unstructured.Unstructured, _ map[string]any) {
	if v.Problem == "" { // else what is replaced could not be made again
		v.TemplateHash = kinds.TemplateHash(kind, obj)
	}
}
