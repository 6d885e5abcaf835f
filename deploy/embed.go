// Package deploy contains the manifests that are embedded in the binary.
package deploy

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

//go:embed crds rbac controller
var files embed.FS

// CRDs returns the custom resource definitions of the shipped kinds, sorted by file name.
func CRDs() ([]*unstructured.Unstructured, error) {
	all, err := resources("crds")
	return slices.DeleteFunc(all, func(obj *unstructured.Unstructured) bool {
		return obj.GetKind() != "CustomResourceDefinition"
	}), err
}

// read parses a manifest with one object.
func read(name string) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{}
	if err := unmarshal(name, &obj.Object); err != nil {
		return nil, err
	}
	return obj, nil
}

// resources returns the resources of a kustomization in order.
func resources(dir string) ([]*unstructured.Unstructured, error) {
	var kustomization struct{ Resources []string }
	if err := unmarshal(path.Join(dir, "kustomization.yaml"), &kustomization); err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for _, name := range kustomization.Resources {
		name = path.Join(dir, name)
		if !strings.HasSuffix(name, ".yaml") {
			below, err := resources(name)
			if err != nil {
				return nil, err
			}
			all = append(all, below...)
			continue
		}
		obj, err := read(name)
		if err != nil {
			return nil, err
		}
		all = append(all, obj)
	}
	return all, nil
}

func unmarshal(name string, into any) error {
	data, err := files.ReadFile(name)
	if err == nil {
		err = yaml.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("read the embedded %s: %w", name, err)
	}
	return nil
}
