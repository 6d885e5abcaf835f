package apiserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

const preserveUnknown = "x-kubernetes-preserve-unknown-fields"

// customSchema returns the schema of a custom kind. fields is the openAPIV3Schema of the CRD. The result also has
// apiVersion, kind, and metadata. If fields is empty, the result allows any field.
func customSchema(gvk schema.GroupVersionKind, fields map[string]any) (*spec.Schema, error) {
	of := &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, of); err != nil {
		return nil, fmt.Errorf("read the schema of a CRD: %w", err)
	}
	if len(fields) == 0 {
		of.AddExtension(preserveUnknown, true)
	}
	if of.Properties == nil {
		of.Properties = map[string]spec.Schema{}
	}
	of.Properties["apiVersion"], of.Properties["kind"] = *spec.StringProperty(), *spec.StringProperty()
	metadata := spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
	metadata.AddExtension(preserveUnknown, true)
	of.Properties["metadata"] = metadata
	of.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind}})
	return of, nil
}

// prune removes the fields that a schema does not allow, and adds their paths to unknown.
func prune(value any, s *spec.Schema, at string, unknown *[]string) {
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			path := strings.TrimPrefix(at+"."+name, ".")
			property, known := s.Properties[name]
			switch {
			case known:
				prune(v, &property, path, unknown)
			case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
				prune(v, s.AdditionalProperties.Schema, path, unknown)
			case s.AdditionalProperties != nil || s.Extensions[preserveUnknown] == true:
			case s.Extensions["x-kubernetes-embedded-resource"] == true && slices.Contains([]string{"apiVersion", "kind", "metadata"}, name):
			default:
				*unknown = append(*unknown, path)
				delete(value, name)
			}
		}
	case []any:
		if s.Items == nil || s.Items.Schema == nil {
			return
		}
		for i, v := range value {
			prune(v, s.Items.Schema, fmt.Sprintf("%s[%d]", at, i), unknown)
		}
	}
	slices.Sort(*unknown)
}

// setDefaults sets missing fields of a value to the defaults in a schema.
func setDefaults(value any, s *spec.Schema) {
	switch value := value.(type) {
	case map[string]any:
		for name, property := range s.Properties {
			if _, there := value[name]; !there && property.Default != nil {
				value[name] = normalValue(property.Default)
			}
		}
		for name, v := range value {
			if property, known := s.Properties[name]; known {
				setDefaults(v, &property)
			} else if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
				setDefaults(v, s.AdditionalProperties.Schema)
			}
		}
	case []any:
		if s.Items != nil && s.Items.Schema != nil {
			for _, v := range value {
				setDefaults(v, s.Items.Schema)
			}
		}
	}
}

// normalValue returns a copy of a value with the number types of unstructured objects.
func normalValue(value any) any {
	obj, err := normal(&unstructured.Unstructured{Object: map[string]any{"value": value}})
	if err != nil {
		return nil
	}
	return obj.Object["value"]
}
