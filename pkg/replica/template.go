package replica

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis/batch/v1alpha1"
)

// Template reads the pod template of an ImoocPod, or gives the default for one
// that was stored before its CRD had a template.
func Template(obj *unstructured.Unstructured) (*corev1.PodTemplateSpec, error) {
	fields, found, err := unstructured.NestedMap(obj.Object, "spec", "template")
	if err != nil {
		return nil, fmt.Errorf("read the pod template of %s: %w", obj.GetName(), err)
	}
	if !found {
		return v1alpha1.DefaultTemplate(), nil
	}
	template := &corev1.PodTemplateSpec{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, template); err != nil {
		return nil, fmt.Errorf("read the pod template of %s: %w", obj.GetName(), err)
	}
	return template, nil
}
