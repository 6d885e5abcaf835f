// Package deploy holds the manifests that the binary carries with it.
package deploy

import (
	"embed"
	"fmt"
	"io/fs"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// CRDs are the files that have a group in their name.
//
//go:embed crds/*_*.yaml
var files embed.FS

// CRDs returns the custom resource definitions of the kinds that this program
// ships, in the order of their file names.
func CRDs() ([]*unstructured.Unstructured, error) {
	names, err := fs.Glob(files, "crds/*_*.yaml")
	if err != nil {
		return nil, fmt.Errorf("read the embedded CRDs: %w", err)
	}
	crds := make([]*unstructured.Unstructured, 0, len(names))
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read the embedded CRD %s: %w", name, err)
		}
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(data, &crd.Object); err != nil {
			return nil, fmt.Errorf("read the embedded CRD %s: %w", name, err)
		}
		crds = append(crds, crd)
	}
	return crds, nil
}
