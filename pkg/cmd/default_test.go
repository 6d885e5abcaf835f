package cmd

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/apis/batch/v1alpha1"
)

// The default pod is defined twice: in the CRD, where it applies even if no process of this project
// runs, and in Go, for objects that are older than the template field of the CRD.
func TestDefaultTemplateIsThatOfTheCRD(t *testing.T) {
	schema := schemaOf(t, "imoocpods.batch.tutorial.kubebuilder.io")
	fields, found, err := unstructured.NestedMap(schema, "properties", "spec", "properties", "template", "default")
	if err != nil || !found {
		t.Fatalf("no default template in the CRD (%v)", err)
	}
	data, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	var inCRD corev1.PodTemplateSpec
	if err := json.Unmarshal(data, &inCRD); err != nil {
		t.Fatal(err)
	}
	if inGo := v1alpha1.DefaultTemplate(); !equality.Semantic.DeepEqual(&inCRD, inGo) {
		t.Errorf("the CRD's default is\n%+v\nthat in Go is\n%+v", inCRD, *inGo)
	}
}

// schemaOf returns the schema of an embedded CRD, which must have exactly one version.
func schemaOf(t *testing.T, name string) map[string]any {
	t.Helper()
	crds, err := deploy.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		if crd.GetName() != name {
			continue
		}
		versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
		if err != nil || len(versions) != 1 {
			t.Fatalf("%s has %d versions (%v), want 1", name, len(versions), err)
		}
		version, ok := versions[0].(map[string]any)
		if !ok {
			t.Fatalf("the version of %s is %v", name, versions[0])
		}
		schema, found, err := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
		if err != nil || !found {
			t.Fatalf("%s has no schema (%v)", name, err)
		}
		return schema
	}
	t.Fatalf("%s is not embedded", name)
	return nil
}
