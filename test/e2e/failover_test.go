package e2e

import (
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
)

// Two copies of the controller run with the arguments and the service account of the Deployment,
// but only one is active. If the active copy is killed during its work, freezes, or stops, the other
// copy takes over. No copy creates an extra pod.
func TestSecondCopyTakesOver(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	driver := cluster.NewDriver(t, ns, w)
	d := deployAs(t, deploy.Settings{Namespace: ns})
	const n = 60
	driver.Create(0)

	first := d.start(t)
	w.AwaitConverged(t, "foo", 0)
	second := d.start(t)
	second.AwaitOutput("waiting until it stops")
	if holder := leaseOf(t, leaserecord.Scope{Namespace: ns}); holder.PID != first.PID() {
		t.Errorf("the lease is held by %s, want process %d", holder, first.PID())
	}
	driver.Scale(n)
	w.Until(t, "the first pod exists", func() bool { return w.Created[driver.UID] > 0 })
	first.Kill()
	if made := w.EverCreated(driver.UID); made >= n {
		t.Fatalf("the first copy was killed after all %d pods had been created, so this test shows nothing", n)
	}
	w.AwaitConverged(t, "foo", n)
	if holder := leaseOf(t, leaserecord.Scope{Namespace: ns}); holder.PID != second.PID() {
		t.Errorf("the lease is held by %s, want process %d", holder, second.PID())
	}
	if most, made := w.MostLive(driver.UID), w.EverCreated(driver.UID); most != n || made != n {
		t.Errorf("saw %d pods at once and %d ever, want %d and %d", most, made, n, n)
	}

	// A frozen copy holds the lease until the lease expires. When the copy resumes, it writes nothing.
	third := d.start(t)
	third.AwaitOutput("waiting until it stops")
	second.Freeze(t)
	driver.Scale(n / 2)
	w.AwaitConverged(t, "foo", n/2)
	if holder := leaseOf(t, leaserecord.Scope{Namespace: ns}); holder.PID != third.PID() {
		t.Errorf("the lease is held by %s, want process %d", holder, third.PID())
	}
	second.Thaw(t)
	second.AwaitOutput("could not renew the lease in time")
	// A copy that shuts down, for example during a node drain, releases the lease immediately.
	driver.Scale(n)
	if code := third.Stop(); code != 0 {
		t.Errorf("the third copy ended with exit code %d", code)
	}
	w.AwaitConverged(t, "foo", n)
	if most := w.MostLive(driver.UID); most != n {
		t.Errorf("saw %d pods at once, want %d", most, n)
	}
}
