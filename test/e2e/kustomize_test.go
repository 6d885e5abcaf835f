package e2e

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// "install --controller" applies the objects in the kustomizations. The test ignores CRDs and namespaces.
func TestInstallsWhatKustomizeMakes(t *testing.T) {
	t.Parallel()
	for dir, args := range map[string]string{
		"deploy":            "-A --image ghcr.io/imoocpod/kubectl-imoocpod:latest",
		"deploy/namespaced": "-n default --image ghcr.io/imoocpod/kubectl-imoocpod:latest",
	} {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			want := manifests(t, harness.Must(t, cluster.Kubectl(t, "", "kustomize", "../../"+dir)))
			got := manifests(t, cluster.Imoocpod(t, "", harness.Words("install --controller --dry-run=client -o yaml "+args)...))
			for id, obj := range got {
				switch obj.GetKind() {
				case "CustomResourceDefinition", "Namespace":
					delete(got, id)
				case "Deployment":
					labels := obj.GetLabels()
					if labels[deploy.LabelVersion] == "" {
						t.Errorf("%s does not say its version", id)
					}
					delete(labels, deploy.LabelVersion)
					obj.SetLabels(labels)
				}
			}
			for id := range want {
				if got[id] == nil || !reflect.DeepEqual(want[id].Object, got[id].Object) {
					t.Errorf("kustomize makes the %s %v\ninstall applies %v", id, want[id], got[id])
				}
			}
			if len(got) != len(want) {
				t.Errorf("kustomize makes %d objects, install applies %d", len(want), len(got))
			}
		})
	}
}

// manifests parses a YAML stream into objects by kind, namespace, and name.
func manifests(t *testing.T, text string) map[string]*unstructured.Unstructured {
	t.Helper()
	all := map[string]*unstructured.Unstructured{}
	for decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 1<<20); ; {
		obj := &unstructured.Unstructured{}
		err := decoder.Decode(&obj.Object)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all[obj.GetKind()+" "+obj.GetNamespace()+"/"+obj.GetName()] = obj
	}
}
