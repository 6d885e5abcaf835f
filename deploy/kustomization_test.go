package deploy

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"
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

// Controller returns the objects of a kustomization with the settings, and adds the version of the program.
func TestControllerIsThatOfTheKustomization(t *testing.T) {
	t.Parallel()
	for dir, settings := range map[string]Settings{
		".":          {Namespace: SystemNamespace, AllNamespaces: true},
		"namespaced": {Namespace: "default"},
	} {
		infos, err := resource.NewLocalBuilder().Unstructured().Local().
			FilenameParam(false, &resource.FilenameOptions{Kustomize: dir}).Flatten().Do().Infos()
		if err != nil {
			t.Fatal(err)
		}
		id := func(obj *unstructured.Unstructured) string {
			return obj.GetKind() + " " + obj.GetNamespace() + "/" + obj.GetName()
		}
		want := map[string]string{}
		for _, info := range infos {
			obj, _ := info.Object.(*unstructured.Unstructured)
			want[id(obj)] = inJSON(t, obj)
		}
		settings.Image, settings.Replicas, settings.Version = "ghcr.io/imoocpod/kubectl-imoocpod:latest", 2, "v1.2.3"
		objs, err := Controller(settings)
		if err != nil {
			t.Fatal(err)
		}
		if len(objs) != len(want) {
			t.Errorf("%s makes %d objects, Controller returns %d", dir, len(want), len(objs))
		}
		for _, obj := range objs {
			labels := obj.GetLabels()
			if version := labels[LabelVersion]; obj.GetKind() == "Deployment" && version != settings.Version {
				t.Errorf("the Deployment has the version %q", version)
			}
			delete(labels, LabelVersion)
			obj.SetLabels(labels)
			if got := inJSON(t, obj); got != want[id(obj)] {
				t.Errorf("%s makes the %s %s\nController returns %s", dir, id(obj), want[id(obj)], got)
			}
		}
	}
}

func inJSON(t *testing.T, obj *unstructured.Unstructured) string {
	t.Helper()
	text, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
