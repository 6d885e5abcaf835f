package e2e

import (
	"strings"
	"testing"
)

// A count that another sets after the scale ends the wait for it, and the other
// is named.
func TestReverted(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	imoocpod(t, ns, "create", "foo", "--replicas", "2")
	w := startPlugin(t, "scale", "foo", "-n", ns, "--replicas", "3", "--timeout", "1h")
	w.says(scaledFoo)
	setReplicas(t, ns, "foo", "rival", 2)
	if code := w.ends(); code != exitReverted {
		t.Errorf("exit code %d, want %d", code, exitReverted)
	}
	w.says(`reverted: imoocpod.batch.tutorial.kubebuilder.io/foo was scaled to 3, and the field manager "rival" set it to 2`)
}

// What would delete the objects of others is refused.
func TestRefusedUninstall(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	imoocpod(t, ns, "create", "foo")
	r := kubectl(t, ns, "imoocpod", "uninstall", "--crds")
	if r.code != exitPrecondition || !strings.Contains(r.stderr, "error: refused: removing imoocpods.batch.tutorial.kubebuilder.io would delete the ") {
		t.Errorf("exit code %d, said %q", r.code, r.stderr)
	}
}

// What will not become ready without help ends the wait when the patience is
// over, and not when that is without end.
func TestFailsEarly(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	startLoop(t, ns)
	apply(t, ns, `{apiVersion: v1, kind: ResourceQuota, metadata: {name: few}, spec: {hard: {pods: "1"}}}`)
	eventually(t, "the quota is in force", func() bool {
		return strings.Contains(must(t, kubectl(t, ns, "get", "resourcequota", "few", "-o", "jsonpath={.status.hard}")), "pods")
	})
	r := kubectl(t, ns, "imoocpod", "create", "foo", "--replicas", "2", "--wait", "--fail-after", "1s")
	if r.code != exitFailed || !strings.Contains(r.stderr, "error: imoocpod.batch.tutorial.kubebuilder.io/foo has failed: ") || !strings.Contains(r.stderr, "exceeded quota: few") {
		t.Errorf("exit code %d, said %q", r.code, r.stderr)
	}
	r = kubectl(t, ns, "imoocpod", "wait", "foo", "--timeout", "3s", "--fail-after", "0", "--fail-fast=false")
	if r.code != exitTimeout || !strings.Contains(r.stderr, "timed out; last seen: failed: ") {
		t.Errorf("exit code %d, said %q", r.code, r.stderr)
	}
	// Help comes in time.
	w := startPlugin(t, "wait", "foo", "-n", ns, "--timeout", "1h", "--fail-after", "1h")
	w.says("failed: ")
	must(t, kubectl(t, ns, "delete", "resourcequota", "few"))
	if code := w.ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
