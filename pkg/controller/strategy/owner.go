package strategy

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// Owner returns the part of an object that plans read.
func (s *Strategy) Owner(kind kinds.Kind, obj *unstructured.Unstructured) plan.Owner {
	v := plan.Owner{
		Kind:        kind.Kind,
		Name:        obj.GetName(),
		UID:         obj.GetUID(),
		Generation:  obj.GetGeneration(),
		Deleting:    obj.GetDeletionTimestamp() != nil,
		Pause:       apis.ReadPause(obj.GetAnnotations()),
		Status:      DecodeStatus(kind.Mapping.Status, obj),
		StatusPaths: kind.Mapping.Status,

		HistoryLimit: kinds.RevisionHistoryLimit(kind, obj),
	}
	var err error
	if !kind.Mapping.Strategy.WithoutReplicas() {
		if v.Desired, err = kind.Desired(obj); err != nil {
			v.Invalid = err.Error()
		}
	}
	template, err := kinds.TemplateFields(kind, obj)
	if err == nil && Size(template) > maxTemplate {
		err = fmt.Errorf("the pod template is too large: it has more than %d bytes", maxTemplate)
	}
	if err == nil {
		v.Template, err = kinds.DecodeTemplate(template)
	}
	if err != nil {
		// The hash stays empty, so that no pod is outdated. A pod that is deleted now could not be
		// created again.
		v.Problem, template = err.Error(), nil
	} else {
		v.TemplateHash = kinds.TemplateHash(kind, obj)
	}
	s.complete(&v, kind, obj, template)
	return v
}

// maxTemplate is the maximum size of a pod template, in bytes. The server stores pods of up to 1.5
// MB, but many of these would fill etcd and the memory of all clients that watch pods.
const maxTemplate = 256 << 10

// Size returns the size of an object as JSON, in bytes.
func Size(object map[string]any) int {
	text, _ := json.Marshal(object) // it was decoded from JSON
	return len(text)
}
