package e2e

import (
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// A machine sleeps for longer than the lease of its controller lasts, and another
// controller takes over. After waking up, the first reports the loss once, writes
// nothing while the other is active, and catches up when the lease is free.
func TestSuspendedController(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	d := cluster.NewDriver(t, ns, w)
	sleeper := cluster.StartRunController(t, ns)
	d.Create(2)
	w.AwaitConverged(t, "foo", 2)
	sleeper.Freeze(t)
	d.Scale(4)
	other := cluster.StartRunController(t, ns)
	other.AwaitOutput("waiting until it stops")
	other.AwaitOutput("acquired the lease")
	w.AwaitConverged(t, "foo", 4)
	d.Scale(3)
	w.AwaitConverged(t, "foo", 3)

	sleeper.Thaw(t)
	const lost = "could not renew the lease in time" // followed by the holder, if already known
	sleeper.AwaitOutput(lost)
	sleeper.AwaitOutput("waiting until it stops")
	d.Scale(5)
	w.AwaitConverged(t, "foo", 5)
	if held := leaseOf(t, leaserecord.Scope{Namespace: ns}); held.PID != other.PID() {
		t.Errorf("the lease is held by %s", held)
	}
	for _, line := range []string{"pods: creating", "pods: deleting"} {
		if n := strings.Count(sleeper.Output()[strings.Index(sleeper.Output(), lost):], line); n > 0 {
			t.Errorf("beside the other loop it did something:\n%s", sleeper.Output())
		}
	}
	d.Scale(1)
	w.AwaitConverged(t, "foo", 1)
	harness.Must(t, cluster.Kubectl(t, ns, "delete", "pod", podName(cluster.ImoocPod(t, ns, "foo"), 0), "--wait=false"))
	other.Stop()
	sleeper.AwaitOutput("acquired the lease")
	w.AwaitConverged(t, "foo", 1)
	d.Scale(2)
	w.AwaitConverged(t, "foo", 2)
	if said := sleeper.Output(); strings.Count(said, lost) != 1 || strings.Count(said, "waiting until it stops") != 1 {
		t.Errorf("it says more than once that it slept:\n%s", said)
	}
}
