package e2e

import (
	"strings"
	"syscall"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// A loop whose machine sleeps, for longer than its lease lasts: another takes
// over meanwhile. Awake again it says so once, writes nothing beside the other, and
// when the lease is free it catches up with what it has missed.
func TestLoopThatSlept(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	w := watchPods(t, ns)
	d := newDriver(t, ns, w)
	sleeper := startLoop(t, ns)
	d.create(2)
	w.settles(t, "foo", 2)
	if err := sleeper.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sleeper.cmd.Process.Signal(syscall.SIGCONT) }) // or it could not be stopped
	d.scale(4)
	other := startLoop(t, ns)
	other.says("waiting until it stops")
	other.says("the lease is held: reconciling")
	w.settles(t, "foo", 4)
	d.scale(3)
	w.settles(t, "foo", 3)

	if err := sleeper.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	const lost = "the lease could not be renewed in time, and was taken: "
	sleeper.says(lost)
	sleeper.says("waiting until it stops")
	d.scale(5)
	w.settles(t, "foo", 5)
	if held := leaseOf(t, status.Scope{Namespace: ns}); held.PID != other.cmd.Process.Pid {
		t.Errorf("the lease is held by %s", held)
	}
	for _, line := range []string{"pods: creating", "pods: deleting"} {
		if n := strings.Count(sleeper.output()[strings.Index(sleeper.output(), lost):], line); n > 0 {
			t.Errorf("beside the other loop it did something:\n%s", sleeper.output())
		}
	}
	d.scale(1)
	w.settles(t, "foo", 1)
	must(t, kubectl(t, ns, "delete", "pod", podName(getImoocPod(t, ns, "foo"), 0), "--wait=false"))
	other.stop()
	sleeper.says("the lease is held: reconciling")
	w.settles(t, "foo", 1)
	d.scale(2)
	w.settles(t, "foo", 2)
	if said := sleeper.output(); strings.Count(said, lost) != 1 || strings.Count(said, "waiting until it stops") != 1 {
		t.Errorf("it says more than once that it slept:\n%s", said)
	}
}
