// Package deploy contains the manifests that are embedded in the binary.
package deploy

import (
	"embed"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

//go:embed crds rbac controller
var files embed.FS

// CRDs returns the custom resource definitions of the shipped kinds, in the order of crds/kustomization.yaml.
func CRDs() []*unstructured.Unstructured {
	return slices.DeleteFunc(resources("crds"), func(obj *unstructured.Unstructured) bool {
		return obj.GetKind() != "CustomResourceDefinition"
	})
}

func read(name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	unmarshal(name, &obj.Object)
	return obj
}

func resources(dir string) []*unstructured.Unstructured {
	var kustomization struct{ Resources []string }
	unmarshal(path.Join(dir, "kustomization.yaml"), &kustomization)
	var all []*unstructured.Unstructured
	for _, name := range kustomization.Resources {
		name = path.Join(dir, name)
		if strings.HasSuffix(name, ".yaml") {
			all = append(all, read(name))
		} else {
			all = append(all, resources(name)...)
		}
	}
	return all
}

// unmarshal panics if an embedded manifest cannot be read. The tests read all embedded manifests.
func unmarshal(name string, into any) {
	data, err := files.ReadFile(name)
	utilruntime.Must(err)
	utilruntime.Must(yaml.Unmarshal(data, into))
}
