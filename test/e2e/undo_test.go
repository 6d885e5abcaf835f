package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// fieldsText returns fields of an object as JSON for byte-by-byte comparison.
func fieldsText(t *testing.T, obj *unstructured.Unstructured, paths ...string) string {
	t.Helper()
	fields := map[string]any{}
	for _, path := range paths {
		value, _, err := unstructured.NestedFieldCopy(obj.Object, strings.Split(path, ".")...)
		if err != nil {
			t.Fatal(err)
		}
		fields[path] = value
	}
	data, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// stored returns an object from the server.
func stored(t *testing.T, ns string, kind kinds.Kind, name string) *unstructured.Unstructured {
	t.Helper()
	obj, err := cluster.Dynamic.Resource(kind.Resource).Namespace(ns).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// With a running controller, a change and its undo are rolled out. The history has
// both templates, and the first template is the newest revision again.
func TestUndoWithTheController(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	for _, kind := range []kinds.Kind{kinds.ImoocPod(), kinds.AppService(), kinds.MyDaemonSet()} {
		target := kind.Singular + "/foo"
		create := []string{"create", target, "--image", "web", "--wait", "--timeout", "2m"}
		if kind.ReplicasPath != nil {
			create = append(create, "--replicas", "3")
		}
		cluster.Imoocpod(t, ns, create...)
		before := fieldsText(t, stored(t, ns, kind, "foo"), "spec")
		cluster.Imoocpod(t, ns, "set", "image", target, "web:2", "--wait", "--timeout", "2m")
		cluster.Imoocpod(t, ns, "undo", target, "--wait", "--timeout", "2m")
		if after := fieldsText(t, stored(t, ns, kind, "foo"), "spec"); after != before {
			t.Errorf("%s has the spec %s after the undo, want %s", target, after, before)
		}
		history := cluster.Imoocpod(t, ns, "history", target)
		lines := strings.Split(strings.TrimSpace(history), "\n")
		if len(lines) != 3 || !strings.HasPrefix(lines[1], "3 ") || !strings.HasPrefix(lines[2], "2 ") {
			t.Errorf("the history of %s is\n%s", target, history)
		}
	}
	// In a HelloWorld, the only change that can be undone is the time of a restart.
	cluster.Imoocpod(t, ns, "create", "helloworld/hi", "--replicas", "2", "--timeout", "2m")
	cluster.Imoocpod(t, ns, "restart", "helloworld/hi", "--timeout", "2m")
	cluster.Imoocpod(t, ns, "undo", "helloworld/hi", "--timeout", "2m")
	if at := stored(t, ns, kinds.HelloWorld(), "hi").GetAnnotations()["kubectl.kubernetes.io/restartedAt"]; at != "" {
		t.Errorf("after the undo of a restart it is as restarted at %s", at)
	}
	r := cluster.Kubectl(t, ns, "imoocpod", "set", "image", "foo", "no-such-image", "--on-failure=revert", "--fail-after", "1s", "--timeout", "2m")
	if r.Code != harness.ExitUndone || !strings.Contains(r.Stderr, "imoocpod/foo undone: image no-such-image → web") {
		t.Errorf("%s: exit code %d, said %s", r.Line, r.Code, r.Stderr)
	}
	cluster.Imoocpod(t, ns, "wait", "foo", "--timeout", "2m")
}
