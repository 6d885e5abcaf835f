// Package revision reads the revisions of an object's pod template from ControllerRevisions and ReplicaSets, finds the
// current revision, describes the differences, and finds the revision to return to. It sends no requests.
package revision

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// Field is a field that defines the pods, as the edit that writes its value. Value is nil if the object lacks the field.
type Field = fieldpath.Edit

// FieldsAt returns the fields with their values in an object.
func FieldsAt(obj map[string]any, fields []Field) ([]Field, error) {
	var all []Field
	for _, f := range fields {
		value, err := f.Path.Value(obj)
		if err != nil {
			return nil, err
		}
		all = append(all, Field{Path: f.Path, Value: value})
	}
	return all, nil
}

// Same reports whether a and b have the same paths and result in the same pods. In pod templates, equal
// quantities in different forms, such as 1 and 1000m, are the same.
func Same(a, b []Field) bool {
	return slices.EqualFunc(a, b, func(a, b Field) bool {
		return a.Path.String() == b.Path.String() && sameValue(a.Value, b.Value)
	})
}

func sameValue(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	was, known := decode(a)
	if !known {
		return reflect.DeepEqual(withoutNulls(a), withoutNulls(b))
	}
	is, known := decode(b)
	return known && equality.Semantic.DeepEqual(was, is)
}

// decode decodes a pod template. known is false for any other value, and for a template with unknown fields.
func decode(value any) (template corev1.PodTemplateSpec, known bool) {
	fields, is := value.(map[string]any)
	known = is && runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(fields, &template, true) == nil
	return template, known
}

// withoutNulls returns a value without its null fields, which have no meaning.
func withoutNulls(value any) any {
	switch v := value.(type) {
	case map[string]any:
		all := map[string]any{}
		for key, inner := range v {
			if inner != nil {
				all[key] = withoutNulls(inner)
			}
		}
		return all
	case []any:
		all := make([]any, 0, len(v))
		for _, inner := range v {
			all = append(all, withoutNulls(inner))
		}
		return all
	}
	return value
}

// Edits returns the edits that change the current fields into the wanted fields, which have the same paths.
// It omits unchanged fields. Unlike Same, it treats quantities such as 1 and 1000m as different.
func Edits(now, want []Field) []fieldpath.Edit {
	var edits []fieldpath.Edit
	for i, f := range want {
		if !reflect.DeepEqual(now[i].Value, f.Value) {
			edits = append(edits, f)
		}
	}
	return edits
}

// Object returns an object that has only these fields.
func Object(fields []Field) map[string]any {
	obj := map[string]any{}
	for _, f := range fields {
		_ = f.Apply(obj) // a path that was read can be set
	}
	return obj
}
