package deploy

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"
)

// Each kustomization.yaml lists all manifests next to it, because "kubectl apply -k" ignores other manifests.
func TestKustomizationsNameAllFiles(t *testing.T) {
	t.Parallel()
	manifests := 0
	err := filepath.WalkDir(".", func(file string, _ fs.DirEntry, err error) error {
		name := filepath.Base(file)
		if err != nil || filepath.Ext(name) != ".yaml" || name == "kustomization.yaml" {
			return err
		}
		manifests++
		kustomization, err := os.ReadFile(filepath.Join(filepath.Dir(file), "kustomization.yaml"))
		if err == nil && !bytes.Contains(kustomization, []byte("\n- "+name+"\n")) {
			t.Errorf("%s is not a resource of the kustomization.yaml next to it", file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if manifests == 0 {
		t.Error("found no manifests")
	}
}

// Controller returns the same objects as the kustomization for the same settings, apart from the version of the
// program. The kustomization for all namespaces also contains the objects of People.
func TestControllerMatchesKustomization(t *testing.T) {
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
		objs := Controller(settings)
		if settings.AllNamespaces {
			objs = append(objs, People()...)
		}
		if len(objs) != len(want) {
			t.Errorf("kustomization %q has %d objects, Controller returns %d", dir, len(want), len(objs))
		}
		for _, obj := range objs {
			labels := obj.GetLabels()
			if version := labels[LabelVersion]; obj.GetKind() == "Deployment" && version != settings.Version {
				t.Errorf("version label of the Deployment = %q, want v1.2.3", version)
			}
			delete(labels, LabelVersion)
			obj.SetLabels(labels)
			if got := inJSON(t, obj); got != want[id(obj)] {
				t.Errorf("kustomization %q: %s =\n%s\nController returns\n%s", dir, id(obj), want[id(obj)], got)
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
