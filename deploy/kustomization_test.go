package deploy

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

// A manifest that no kustomization lists would never be applied.
func TestKustomizationsNameAllFiles(t *testing.T) {
	t.Parallel()
	tree := os.DirFS(".")
	kustomizations := 0
	err := fs.WalkDir(tree, ".", func(dir string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(tree, path.Join(dir, "kustomization.yaml"))
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a directory without a kustomization
		}
		if err != nil {
			return err
		}
		kustomizations++
		var kustomization struct{ Resources []string }
		if err := yaml.Unmarshal(data, &kustomization); err != nil {
			return err
		}
		files, err := fs.Glob(tree, path.Join(dir, "*.yaml"))
		if err != nil {
			return err
		}
		for _, file := range files {
			if name := path.Base(file); name != "kustomization.yaml" && !slices.Contains(kustomization.Resources, name) {
				t.Errorf("%s is not among the resources of %s/kustomization.yaml", file, dir)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if kustomizations == 0 {
		t.Error("there is no kustomization")
	}
}
