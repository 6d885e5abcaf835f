package e2e

import (
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// A file identifies the object; the status comes from the server.
func TestObjectNamedByAFile(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	file := harness.WriteFile(t, "{apiVersion: batch.tutorial.kubebuilder.io/v1alpha1, kind: ImoocPod, metadata: {name: foo}, spec: {replicas: 7}}")
	for _, verb := range []string{"status", "describe", "delete"} {
		if r := cluster.Kubectl(t, ns, "imoocpod", verb, "-f", file); r.Code != harness.ExitNotFound {
			t.Errorf("%s of an object that is not there: exit code %d\n%s%s", verb, r.Code, r.Stdout, r.Stderr)
		}
	}
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "2")
	cluster.AwaitConverged(t, ns, "foo", 2)
	for _, verb := range []string{"status", "describe"} {
		if out := cluster.Imoocpod(t, ns, verb, "-f", file); !strings.Contains(out, "2 of 2 pods ready") {
			t.Errorf("%s shows the file:\n%s", verb, out)
		}
	}
	cluster.Imoocpod(t, ns, "scale", "-f", file, "--replicas", "1", "--timeout", "5m")
	cluster.SetFinalizers(t, ns, "foo", `["example.com/hold"]`)
	if r := cluster.Kubectl(t, ns, "imoocpod", "delete", "-f", file, "--timeout", "1s"); r.Code != harness.ExitTimeout {
		t.Errorf("delete did not wait for a held object: exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	cluster.SetFinalizers(t, ns, "foo", "null")
}
