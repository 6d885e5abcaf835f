package node

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// create creates an ImoocPod. pod is the spec of its pods in YAML, in which create sets missing
// fields, such as names and images of containers. If node is empty, the pods can run on any node.
func create(t *testing.T, namespace, name, node string, replicas int64, pod string) *harness.Owner {
	t.Helper()
	var spec corev1.PodSpec
	if err := yaml.UnmarshalStrict([]byte(pod), &spec); err != nil {
		t.Fatalf("parse the pod spec: %v in\n%s", err, pod)
	}
	spec.AutomountServiceAccountToken = new(false)
	if spec.TerminationGracePeriodSeconds == nil {
		spec.TerminationGracePeriodSeconds = new(int64(1))
	}
	if node != "" {
		spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			c := &containers[i]
			c.Name = cmp.Or(c.Name, "main")
			if c.Image == "" {
				c.Image, c.ImagePullPolicy = "busybox", corev1.PullIfNotPresent
			}
		}
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&spec)
	if err != nil {
		t.Fatal(err)
	}
	return cluster.NewOwner(t, namespace, kinds.ImoocPod(), name,
		map[string]any{"replicas": replicas, "template": map[string]any{"spec": fields}})
}

// addImage adds the busybox image under another name to the registry of the nodes until the test ends.
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
