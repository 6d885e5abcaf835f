package holder

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
)

func TestZombieIsDead(t *testing.T) {
	t.Parallel()
	child := exec.Command("sleep", "3600")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Wait() })
	if !Alive(child.Process.Pid) || !Alive(os.Getpid()) {
		t.Error("a process that runs is taken for dead")
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return !Alive(child.Process.Pid), nil
	}); err != nil {
		t.Error("a zombie is taken for alive")
	}
}

// A loop whose process has ended on this machine is not live, even if its lease was just renewed. For
// a process on another machine, only the lease matters.
func TestLoopOf(t *testing.T) {
	t.Parallel()
	child := exec.Command("true")
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for name, test := range map[string]struct {
		machine string
		pid     int
		lives   bool
	}{
		"it runs":             {Machine(), os.Getpid(), true},
		"it has ended":        {Machine(), child.Process.Pid, false},
		"on another machine":  {"another", child.Process.Pid, true},
		"it says no machine":  {"", child.Process.Pid, true},
		"it says no process":  {Machine(), 0, true},
		"it says no good one": {Machine(), -1, true},
	} {
		seconds := int32(15)
		lease := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("alice"), RenewTime: new(metav1.NewMicroTime(now)), LeaseDurationSeconds: &seconds,
		}}
		lease.Annotations = leaserecord.Loop{Machine: test.machine, PID: test.pid}.Annotations()
		if l := LoopOf(lease); l.Live(now) != test.lives {
			t.Errorf("%s: it lives: %t", name, l.Live(now))
		}
	}
}
