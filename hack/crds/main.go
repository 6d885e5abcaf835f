// Command crds removes the descriptions below the pod template from generated CRDs, so that
// "kubectl apply" can store each CRD in an annotation, which holds 256 KB. "kubectl explain
// pod" shows these descriptions. The descriptions of this project's own fields stay. It is run
// by "make generate":
//
//	crds FILE...
package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// templatePath is the annotation of a CRD with the path of the pod template.
const templatePath = "imoocpod.dev/template-path"

func main() {
	for _, file := range os.Args[1:] {
		text, err := os.ReadFile(file)
		var small []byte
		if err == nil {
			small, err = shrink(text)
		}
		if err == nil && !bytes.Equal(small, text) {
			err = os.WriteFile(file, small, 0o600)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "error: %s: %v\n", file, err)
			os.Exit(1)
		}
	}
}

// shrink returns a CRD without the descriptions below its pod template. A CRD
// without a pod template is returned unchanged.
func shrink(text []byte) ([]byte, error) {
	var crd unstructured.Unstructured
	if err := yaml.Unmarshal(text, &crd.Object); err != nil {
		return nil, err
	}
	path := crd.GetAnnotations()[templatePath]
	if path == "" {
		return text, nil
	}
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil {
		return nil, err
	}
	for _, version := range versions {
		fields := []string{"schema", "openAPIV3Schema"}
		for name := range strings.SplitSeq(strings.TrimPrefix(path, "."), ".") {
			fields = append(fields, "properties", name)
		}
		schema, _ := version.(map[string]any)
		template, found, err := unstructured.NestedFieldNoCopy(schema, append(fields, "properties")...)
		if err != nil || !found {
			return nil, fmt.Errorf("a version has no schema for %s: %w", path, err)
		}
		removeDescriptions(template)
	}
	if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
		return nil, err
	}
	small, err := yaml.Marshal(crd.Object)
	return append([]byte("---\n"), small...), err
}

// removeDescriptions removes the descriptions of all fields, which are strings. It keeps the schema
// of a field called "description".
func removeDescriptions(schema any) {
	fields, _ := schema.(map[string]any)
	for name, below := range fields {
		if _, text := below.(string); text && name == "description" {
			delete(fields, name)
		} else {
			removeDescriptions(below)
		}
	}
}
