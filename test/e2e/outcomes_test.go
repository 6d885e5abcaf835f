package e2e

import (
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// A wait fails early once --fail-after has passed for an object that cannot become ready
// by itself, unless that is infinite.
func TestFailsEarly(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	quota(t, ns, "1")
	r := cluster.Kubectl(t, ns, "imoocpod", "create", "foo", "--replicas", "2", "--wait", "--fail-after", "1s")
	if r.Code != harness.ExitFailed || !strings.Contains(r.Stderr, "error: imoocpod/foo has failed: ") || !strings.Contains(r.Stderr, "exceeded quota: few") {
		t.Errorf("exit code %d, said %q", r.Code, r.Stderr)
	}
	r = cluster.Kubectl(t, ns, "imoocpod", "wait", "foo", "--timeout", "5s", "--fail-after=never")
	if r.Code != harness.ExitTimeout || !strings.Contains(r.Stderr, "timed out; last seen: failed: ") {
		t.Errorf("exit code %d, said %q", r.Code, r.Stderr)
	}
	// The problem is fixed in time.
	w := cluster.StartPlugin(t, "wait", "foo", "-n", ns, "--timeout", "1h", "--fail-after", "1h")
	w.AwaitOutput("failed, gives up in ")
	harness.Must(t, cluster.Kubectl(t, ns, "delete", "resourcequota", "few"))
	if code := w.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
