package e2e

import (
	"syscall"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// Of two copies of the controller, with the arguments of the Deployment and as its
// service account, one works. When it is killed in the middle of its work, or
// freezes, or stops, another takes over, and never is there a pod too many.
func TestSecondCopyTakesOver(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	w := watchPods(t, ns)
	driver := newDriver(t, ns, w)
	d := deployHere(t, ns, nil)
	const n = 60
	driver.create(0)

	first := d.start(t)
	w.settles(t, "foo", 0)
	second := d.start(t)
	second.says("waiting until it stops")
	if holder := leaseOf(t, status.Scope{Namespace: ns}); holder.PID != first.cmd.Process.Pid {
		t.Errorf("the lease is held by %s, want process %d", holder, first.cmd.Process.Pid)
	}
	driver.scale(n)
	w.until(t, "the first pod is there", func() bool { return w.made[driver.uid] > 0 })
	first.kill()
	if made := w.everMade(driver.uid); made >= n {
		t.Fatalf("the first copy was killed when all %d pods had been made; nothing is shown by that", n)
	}
	w.settles(t, "foo", n)
	if holder := leaseOf(t, status.Scope{Namespace: ns}); holder.PID != second.cmd.Process.Pid {
		t.Errorf("the lease is held by %s, want process %d", holder, second.cmd.Process.Pid)
	}
	if most, made := w.mostLive(driver.uid), w.everMade(driver.uid); most != n || made != n {
		t.Errorf("saw %d pods at once and %d ever, want %d and %d", most, made, n, n)
	}

	// One that does not get on, and is not known to be dead, has the lease until it
	// runs out. When it gets on again it writes nothing.
	third := d.start(t)
	third.says("waiting until it stops")
	second.freeze(t)
	driver.scale(n / 2)
	w.settles(t, "foo", n/2)
	if holder := leaseOf(t, status.Scope{Namespace: ns}); holder.PID != third.cmd.Process.Pid {
		t.Errorf("the lease is held by %s, want process %d", holder, third.cmd.Process.Pid)
	}
	second.thaw(t)
	second.says("the lease could not be renewed in time")
	// One that stops in order, as when a node is drained, gives it up at once.
	driver.scale(n)
	if code := third.stop(); code != 0 {
		t.Errorf("the third copy ended with exit code %d", code)
	}
	w.settles(t, "foo", n)
	if most := w.mostLive(driver.uid); most != n {
		t.Errorf("saw %d pods at once, want %d", most, n)
	}
}

// freeze lets the process do nothing until it is thawed.
func (l *loop) freeze(t *testing.T) {
	t.Helper()
	if err := l.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.cmd.Process.Signal(syscall.SIGCONT) }) // or it could not be stopped
}

func (l *loop) thaw(t *testing.T) {
	t.Helper()
	if err := l.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}
