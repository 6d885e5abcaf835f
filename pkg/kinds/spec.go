package kinds

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// PutSpec sets the fields of a new object that run-controller reconciles. It always sets the count, because the
// tutorials' CRDs require this field. If image is "" and command is empty, the defaults of the CRD apply.
func (k Kind) PutSpec(obj *unstructured.Unstructured, replicas int32, image string, command []string) error {
	if path := k.Path(); path != nil {
		if err := path.Set(obj.Object, int64(replicas)); err != nil {
			return err
		}
	}
	m := k.Mapping
	var err error
	if m.DeploymentNamePath != nil {
		err = unstructured.SetNestedField(obj.Object, obj.GetName(), m.DeploymentNamePath...)
	}
	if err == nil && m.TemplatePath != nil {
		return k.putTemplate(obj, image, command)
	}
	if err == nil && image != "" {
		err = unstructured.SetNestedField(obj.Object, image, m.ImagePath...)
	}
	if err == nil && len(command) > 0 {
		err = unstructured.SetNestedStringSlice(obj.Object, command, m.CommandPath...)
	}
	return err
}

// putTemplate sets the pod template if there is an image or a command. Without an image, it uses the default template.
func (k Kind) putTemplate(obj *unstructured.Unstructured, image string, command []string) error {
	template := k.Mapping.Template.DeepCopy()
	switch {
	case image != "":
		template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}}}
	case len(command) == 0:
		return nil
	}
	template.Spec.Containers[0].Command = command
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(template)
	if err != nil {
		return fmt.Errorf("make the pod template: %w", err)
	}
	unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
	return unstructured.SetNestedMap(obj.Object, fields, k.Mapping.TemplatePath...)
}
