package e2e

import (
	"strings"
	"testing"
)

// A file says which object is meant; how it is doing, the server says.
func TestObjectNamedByAFile(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	startLoop(t, ns)
	file := writeFile(t, "{apiVersion: batch.tutorial.kubebuilder.io/v1alpha1, kind: ImoocPod, metadata: {name: foo}, spec: {replicas: 7}}")
	for _, verb := range []string{"status", "describe", "delete"} {
		if r := kubectl(t, ns, "imoocpod", verb, "-f", file); r.code != exitNotFound {
			t.Errorf("%s of an object that is not there: exit code %d\n%s%s", verb, r.code, r.stdout, r.stderr)
		}
	}
	imoocpod(t, ns, "create", "foo", "--replicas", "2")
	converged(t, ns, "foo", 2)
	for _, verb := range []string{"status", "describe"} {
		if out := imoocpod(t, ns, verb, "-f", file); !strings.Contains(out, "2 of 2 pods are ready") {
			t.Errorf("%s shows the file:\n%s", verb, out)
		}
	}
	imoocpod(t, ns, "scale", "-f", file, "--replicas", "1", "--timeout", "5m")
	setFinalizers(t, ns, "foo", `["example.com/hold"]`)
	if r := kubectl(t, ns, "imoocpod", "delete", "-f", file, "--timeout", "1s"); r.code != exitTimeout {
		t.Errorf("delete did not wait for a held object: exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	setFinalizers(t, ns, "foo", "null")
}
