package replica

import (
	"errors"
	"testing"

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
	found, err := schemaOf([]byte(document), lamp)
	if err != nil || found["description"] != "it" {
		t.Errorf("got %v, %v", found, err)
	}
	if _, err := schemaOf([]byte(document), schema.GroupVersionKind{Version: "v1", Kind: "Lamp"}); !errors.Is(err, errNoSchema) {
		t.Errorf("a kind that is not there: %v", err)
	}
	if _, err := schemaOf([]byte("<html>"), lamp); err == nil {
		t.Error("what is no JSON was read")
	}
}
