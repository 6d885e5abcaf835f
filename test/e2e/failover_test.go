package e2e

import (
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
)

// Of two copies of the controller, with the arguments of the Deployment and as its
// service account, one works. When it is killed in the middle of its work, or
// freezes, or stops, another takes over, and never is there a pod too many.
func TestSecondCopyTakesOver(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	driver := cluster.NewDriver(t, ns, w)
	d := deployHere(t, ns, nil)
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
	w.Until(t, "the first pod is there", func() bool { return w.Created[driver.UID] > 0 })
	first.Kill()
	if made := w.EverCreated(driver.UID); made >= n {
		t.Fatalf("the first copy was killed when all %d pods had been made; nothing is shown by that", n)
	}
	w.AwaitConverged(t, "foo", n)
	if holder := leaseOf(t, leaserecord.Scope{Namespace: ns}); holder.PID != second.PID() {
		t.Errorf("the lease is held by %s, want process %d", holder, second.PID())
	}
	if most, made := w.MostLive(driver.UID), w.EverCreated(driver.UID); most != n || made != n {
		t.Errorf("saw %d pods at once and %d ever, want %d and %d", most, made, n, n)
	}

	// One that does not get on, and is not known to be dead, has the lease until it
	// runs out. When it gets on again it writes nothing.
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
	// One that stops in order, as when a node is drained, gives it up at once.
	driver.Scale(n)
	if code := third.Stop(); code != 0 {
		t.Errorf("the third copy ended with exit code %d", code)
	}
	w.AwaitConverged(t, "foo", n)
	if most := w.MostLive(driver.UID); most != n {
		t.Errorf("saw %d pods at once, want %d", most, n)
	}
}
