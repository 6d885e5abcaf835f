package deploy

import (
	"encoding/json"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Each CRD fits into an annotation. "kubectl apply" stores the whole manifest in an annotation, and
// the total size of an object's annotations is limited.
func TestCRDsFitIntoAnAnnotation(t *testing.T) {
	t.Parallel()
	for _, crd := range crds(t) {
		text, err := json.Marshal(crd.Object)
		if err != nil {
			t.Fatal(err)
		}
		const others = 4 << 10
		if len(text) > validation.TotalAnnotationSizeLimitB-others {
			t.Errorf("%s has %d bytes in JSON, too many for annotations of %d bytes", crd.GetName(), len(text), validation.TotalAnnotationSizeLimitB)
		}
	}
}

// Whole numbers have the type that they have in objects from a server, so that "check" can compare CRDs.
func TestNumbersAreAsFromAServer(t *testing.T) {
	t.Parallel()
	for _, crd := range CRDs() {
		text, err := crd.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var read unstructured.Unstructured
		if err := read.UnmarshalJSON(text); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(crd, &read) {
			t.Errorf("%s differs after it was encoded and decoded", crd.GetName())
		}
	}
}

// Each field of the shipped kinds has a description for kubectl explain. Fields in a pod template need
// none, because kubectl explain pod describes them.
func TestFieldsAreDescribed(t *testing.T) {
	t.Parallel()
	described := 0
	var walk func(crd, at string, schema map[string]any, template string)
	walk = func(crd, at string, schema map[string]any, template string) {
		if description, _ := schema["description"].(string); description == "" && at != ".metadata" {
			t.Errorf("field %q of CRD %s has no description", at, crd)
		}
		described++
		if at != "" && at == template {
			return
		}
		if items, ok := schema["items"].(map[string]any); ok && items["properties"] != nil {
			schema = items
		}
		properties, _ := schema["properties"].(map[string]any)
		for name, property := range properties {
			property, ok := property.(map[string]any)
			if !ok {
				t.Fatalf("field %s.%s of CRD %s is not a schema", at, name, crd)
			}
			walk(crd, at+"."+name, property, template)
		}
	}
	for _, crd := range crds(t) {
		versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
		if err != nil {
			t.Fatal(err)
		}
		for _, version := range versions {
			version, _ := version.(map[string]any)
			schema, found, err := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
			if err != nil || !found {
				t.Fatalf("CRD %s has a version without a schema (error %v)", crd.GetName(), err)
			}
			walk(crd.GetName(), "", schema, crd.GetAnnotations()["imoocpod.dev/template-path"])
		}
	}
	if described < 50 {
		t.Errorf("checked only %d fields, want at least 50", described)
	}
}

func crds(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	all := CRDs()
	if len(all) != 4 {
		t.Fatalf("got %d CRDs, want 4", len(all))
	}
	return all
}
