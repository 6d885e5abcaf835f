package fieldpath

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// operation is one operation of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// Edit sets a field of an object to a value. A nil value removes the field.
type Edit struct {
	Path  Path
	Value any
}

// Annotate returns the edit that sets an annotation. An empty value removes the annotation.
func Annotate(key, value string) Edit {
	e := Edit{Path: Annotation(key)}
	if value != "" {
		e.Value = value
	}
	return e
}

// Patch returns a JSON patch that makes the edits one after another. If the object on the server has changed since obj
// was read, list indexes in the patch might be wrong. Therefore, the patch also sets resourceVersion to the value in
// obj, so that the server returns a conflict. A "test" operation would fail with an error that is not a conflict.
//
// The patch adds absent fields and their enclosing objects, but no list elements. obj must have a resourceVersion.
func Patch(obj map[string]any, edits ...Edit) ([]byte, error) {
	version, _ := Object(obj, "metadata")["resourceVersion"].(string)
	if version == "" {
		return nil, errors.New("the object has no resourceVersion, which a safe change requires")
	}
	operations := []operation{{"replace", "/metadata/resourceVersion", version}}
	edited := runtime.DeepCopyJSON(obj) // contains the edits so far
	for _, e := range edits {
		change, err := e.operation(edited)
		if err == nil {
			err = e.Apply(edited)
		}
		if err != nil {
			return nil, err
		}
		operations = append(operations, change...)
	}
	patch, err := json.Marshal(operations)
	if err != nil {
		return nil, fmt.Errorf("make the patch: %w", err)
	}
	return patch, nil
}

// operation returns the operation that makes the edit, or none if there is nothing to remove.
func (e Edit) operation(obj map[string]any) ([]operation, error) {
	at, found, err := e.Path.locate(obj)
	if err != nil {
		return nil, err
	}
	rest := e.Path.Steps[len(at):]
	switch {
	case e.Value == nil && len(rest) > 0:
		return nil, nil // the field to remove does not exist
	case e.Value == nil:
		return []operation{{Op: "remove", Path: pointer(at)}}, nil
	case len(rest) == 0:
		return []operation{{"replace", pointer(at), e.Value}}, nil
	}
	for i, s := range rest {
		if s.Kind != Field {
			return nil, fmt.Errorf("%s does not exist: elements of a list are changed, never added", Path{e.Path.Steps[:len(at)+i+1]})
		}
	}
	op := "replace" // replaces the null at the last spot
	if found != nil {
		op, at, rest = "add", append(at, spot{key: rest[0].Name}), rest[1:]
	}
	value, err := set(nil, rest, e.Value)
	return []operation{{op, pointer(at), value}}, err
}

// Apply makes the edit in obj. Removing an absent field has no effect.
func (e Edit) Apply(obj map[string]any) error {
	if e.Value != nil {
		return e.Path.Set(obj, runtime.DeepCopyJSONValue(e.Value))
	}
	container, err := e.Path.Parent().Value(obj)
	if fields, is := container.(map[string]any); is {
		delete(fields, e.Path.Last().Name)
	}
	return err
}

// pointer returns the JSON pointer (RFC 6901) that leads from the root through the spots.
func pointer(at []spot) string {
	var b strings.Builder
	for _, s := range at {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(fmt.Sprint(s.key)))
	}
	return b.String()
}
