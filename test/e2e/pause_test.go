package e2e

import (
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// A controller with --once does not wait for paused objects.
func TestOnceWithAPausedObject(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "0")
	cluster.Imoocpod(t, ns, "pause", "foo", "--reason", "INC-7")
	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "1")
	if r := cluster.Kubectl(t, ns, "imoocpod", "run-controller", "--dry-run"); harness.Must(t, r) == "" || !strings.Contains(r.Stdout, "blocked: paused until ") {
		t.Errorf("the dry run printed %q", r.Stdout)
	}
	if r := cluster.Kubectl(t, ns, "imoocpod", "run-controller", "--once", "--timeout", "5m"); r.Code != harness.ExitFailed || !strings.Contains(r.Stderr, "imoocpod.batch.tutorial.kubebuilder.io/foo is paused: ") {
		t.Errorf("run-controller --once: exit code %d, said %q", r.Code, r.Stderr)
	}
}
