package fieldpath

import (
	"errors"
	"testing"

	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestSchemaOf(t *testing.T) {
	t.Parallel()
	lamp := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Lamp"}
	const document = `{"components":{"schemas":{
  "odd":{"x-kubernetes-group-version-kind":"something else"},
  "none":{"type":"object"},
  "shared":{"description":"shared","x-kubernetes-group-version-kind":[{"group":"example.com","version":"v1","kind":"Lamp"},{"group":"","version":"v1","kind":"DeleteOptions"}]},
  "older":{"description":"older","x-kubernetes-group-version-kind":[{"group":"example.com","version":"v1beta1","kind":"Lamp"}]},
  "list":{"description":"list","x-kubernetes-group-version-kind":[{"group":"example.com","version":"v1","kind":"LampList"}]},
  "lamp":{"description":"it","x-kubernetes-group-version-kind":[{"group":"example.com","version":"v1","kind":"Lamp"}]}}}}`
	found, err := SchemaOf([]byte(document), lamp)
	if err != nil || found["description"] != "it" {
		t.Errorf("schema of Lamp = %v, %v", found, err)
	}
	if _, err := SchemaOf([]byte(document), schema.GroupVersionKind{Version: "v1", Kind: "Lamp"}); !errors.Is(err, errNoSchema) {
		t.Errorf("missing kind: error %v, want errNoSchema", err)
	}
	if _, err := SchemaOf([]byte("<html>"), lamp); err == nil || errors.Is(err, errNoSchema) {
		t.Errorf("invalid JSON: error %v, want an error other than errNoSchema", err)
	}
}

// Typed follows references to other schemas, even references in allOf.
func TestTypedThroughReferences(t *testing.T) {
	t.Parallel()
	const document = `{"components":{"schemas":{
  "web":{"properties":{"spec":{"allOf":[{"$ref":"#/components/schemas/spec"}],"default":{}}},"x-kubernetes-group-version-kind":[{"group":"apps","version":"v1","kind":"Web"}]},
  "spec":{"properties":{"selector":{"$ref":"#/components/schemas/selector"},"size":{"$ref":"#/components/schemas/size"},"gone":{"$ref":"#/components/schemas/none"}}},
  "size":{"type":"string"},
  "selector":{"properties":{"matchLabels":{"type":"object","additionalProperties":{"type":"string"}}}}}}}`
	found, err := SchemaOf([]byte(document), schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Web"})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]any{".spec.selector.matchLabels.version": "1", ".spec.size": "1", ".spec.gone.a": int64(1)} {
		if got, err := parse(t, path).Typed(found, "1"); err != nil || got != want {
			t.Errorf("Typed of %s = %#v, %v, want %#v", path, got, err, want)
		}
	}
}

func TestObject(t *testing.T) {
	t.Parallel()
	inner := map[string]any{"n": int64(1)}
	for _, row := range []struct {
		of    map[string]any
		names []string
		want  map[string]any
	}{
		{map[string]any{"a": map[string]any{"b": inner}}, []string{"a", "b"}, inner},
		{inner, nil, inner},
		{map[string]any{"a": "text"}, []string{"a", "b"}, nil},
		{nil, []string{"a"}, nil},
	} {
		if got := Object(row.of, row.names...); !reflect.DeepEqual(got, row.want) {
			t.Errorf("fields %v of %v = %v, want %v", row.names, row.of, got, row.want)
		}
	}
}

func TestStrings(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		value any
		want  []string
	}{
		{[]any{"a", int64(1), nil, "b"}, []string{"a", "b"}},
		{"a", nil},
		{nil, nil},
	} {
		if got := Strings(row.value); !reflect.DeepEqual(got, row.want) {
			t.Errorf("Strings(%v) = %q, want %q", row.value, got, row.want)
		}
	}
}
