package kinds

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// ContainerName is the name of the only container of kinds without a pod template.
const ContainerName = "app"

// Template returns the pod template of an object. If the kind has no template, Template makes one with one container.
func Template(kind Kind, obj *unstructured.Unstructured) (*corev1.PodTemplateSpec, error) {
	fields, err := TemplateFields(kind, obj)
	if err != nil {
		return nil, err
	}
	return DecodeTemplate(fields)
}

// DecodeTemplate converts the fields of a pod template.
func DecodeTemplate(fields map[string]any) (*corev1.PodTemplateSpec, error) {
	template := &corev1.PodTemplateSpec{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, template); err != nil {
		return nil, fmt.Errorf("read the pod template: %w", err)
	}
	return template, nil
}

// TemplateFields is like Template, but does not decode the template. Callers may modify the result.
func TemplateFields(kind Kind, obj *unstructured.Unstructured) (map[string]any, error) {
	fields, found, err := storedTemplate(kind, obj)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the pod template of %s: %w", obj.GetName(), err)
	case found:
		dropOurs(fields)
		return fields, nil
	case kind.Mapping.Template != nil:
		return runtime.DefaultUnstructuredConverter.ToUnstructured(kind.Mapping.Template)
	}
	container, err := containerFields(kind, obj)
	if err != nil {
		return nil, err
	}
	container["name"] = ContainerName
	fields = map[string]any{"spec": map[string]any{"containers": []any{container}}}
	if at := RestartedAt(kind, obj); at != "" {
		fields["metadata"] = map[string]any{"annotations": map[string]any{apis.AnnotationRestartedAt: at}}
	}
	return fields, nil
}

// dropOurs removes the labels and annotations of this program, because a template must not set them. It also removes
// null metadata, labels, and annotations, so that the caller can add labels.
func dropOurs(template map[string]any) {
	metadata, _ := template["metadata"].(map[string]any)
	if metadata == nil {
		delete(template, "metadata")
	}
	for _, field := range []string{"labels", "annotations"} {
		words, isMap := metadata[field].(map[string]any)
		maps.DeleteFunc(words, func(name string, _ any) bool { return strings.HasPrefix(name, apis.Prefix) })
		if !isMap && metadata[field] == nil {
			delete(metadata, field)
		}
	}
}

func storedTemplate(kind Kind, obj *unstructured.Unstructured) (fields map[string]any, found bool, err error) {
	if len(kind.Mapping.TemplatePath) == 0 {
		return nil, false, nil
	}
	return unstructured.NestedMap(obj.Object, kind.Mapping.TemplatePath...)
}

// containerFields returns the image and, if set, the command and environment of an object whose kind has no template.
func containerFields(kind Kind, obj *unstructured.Unstructured) (map[string]any, error) {
	m, image := kind.Mapping, ""
	if len(m.ImagePath) > 0 {
		var err error
		if image, _, err = unstructured.NestedString(obj.Object, m.ImagePath...); err != nil {
			return nil, fmt.Errorf("read the image of %s: %w", obj.GetName(), err)
		}
	}
	if image = cmp.Or(image, m.Image); image == "" {
		return nil, fmt.Errorf("%s has no pod template: .%s is empty", obj.GetName(),
			strings.Join(append(m.TemplatePath, m.ImagePath...), "."))
	}
	fields := map[string]any{"image": image}
	for name, path := range map[string][]string{"command": m.CommandPath, "env": m.EnvPath} {
		if len(path) == 0 {
			continue
		}
		list, found, err := unstructured.NestedSlice(obj.Object, path...)
		if err != nil {
			return nil, fmt.Errorf("read .%s of %s: %w", strings.Join(path, "."), obj.GetName(), err)
		}
		if found {
			fields[name] = list
		}
	}
	return fields, nil
}

// RestartedAt returns the time of the last "restart", or "" if there was none or if the kind has a template.
func RestartedAt(kind Kind, obj *unstructured.Unstructured) string {
	if len(kind.Mapping.TemplatePath) > 0 {
		return "" // the time is in the template
	}
	return obj.GetAnnotations()[apis.AnnotationRestartedAt]
}

// TemplateHash returns a hash of the fields that define the pods, or "" if the template is not an object. The hash is a
// label value. It is computed from stored fields, so that other versions of this program compute the same hash.
func TemplateHash(kind Kind, obj *unstructured.Unstructured) string {
	stored, _, err := storedTemplate(kind, obj)
	said := map[string]any{"template": stored}
	if len(kind.Mapping.TemplatePath) == 0 {
		said = map[string]any{"restartedAt": RestartedAt(kind, obj)}
		container, _ := containerFields(kind, obj) // if it is invalid, the controller creates no pods
		maps.Copy(said, container)
	}
	// The name label of a shipped kind never changes, so the hash omits it.
	if kind.Mapping.NameLabel != "" && !kind.Shipped() {
		said["nameLabel"] = kind.Mapping.NameLabel
	}
	text, jsonErr := json.Marshal(said) // with sorted keys
	if err != nil || jsonErr != nil {
		return ""
	}
	h := fnv.New64a()
	h.Write(text) // a hash never returns an error
	return fmt.Sprintf("%016x", h.Sum64())
}
