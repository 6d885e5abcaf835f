package node

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// manifest returns an ImoocPod in YAML. template is the spec of its pods, to which manifest adds
// missing fields. If node is empty, the pods can run on any node.
func manifest(t *testing.T, namespace, name, node string, replicas int, template string) string {
	t.Helper()
	var spec map[string]any
	if err := yaml.Unmarshal([]byte(template), &spec); err != nil {
		t.Fatalf("%v in %s", err, template)
	}
	for field, value := range map[string]any{
		"automountServiceAccountToken": false, "terminationGracePeriodSeconds": 1, "nodeSelector": map[string]any{"kubernetes.io/hostname": node},
	} {
		if _, given := spec[field]; !given && (field != "nodeSelector" || node != "") {
			spec[field] = value
		}
	}
	for _, list := range []string{"initContainers", "containers"} {
		containers, _ := spec[list].([]any)
		for _, c := range containers {
			if c, is := c.(map[string]any); is && c["image"] == nil {
				c["image"], c["imagePullPolicy"] = "busybox", "IfNotPresent"
			}
		}
	}
	data, err := yaml.Marshal(map[string]any{
		"apiVersion": kinds.ImoocPod().Resource.GroupVersion().String(),
		"kind":       "ImoocPod",
		"metadata":   map[string]any{"name": name, "namespace": namespace},
		"spec":       map[string]any{"replicas": replicas, "template": map[string]any{"spec": spec}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// addImage adds the busybox image with another name to the registry of the nodes until the test
// ends.
func addImage(t *testing.T, name, tag string) {
	t.Helper()
	images := filepath.Join(cluster.Dir, "images", "tags", "library")
	if err := os.MkdirAll(filepath.Join(images, name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(images, "busybox", "latest"), filepath.Join(images, name, tag)); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(filepath.Join(images, name, tag)); err != nil && !os.IsNotExist(err) {
			t.Error(err)
		}
	})
}
