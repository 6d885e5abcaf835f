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
		t.Error("Alive = false for a running process")
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return !Alive(child.Process.Pid), nil
	}); err != nil {
		t.Error("Alive = true for a zombie for a minute, want false")
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
		"running":             {Machine(), os.Getpid(), true},
		"ended":               {Machine(), child.Process.Pid, false},
		"on another machine":  {"another", child.Process.Pid, true},
		"no machine recorded": {"", child.Process.Pid, true},
		"no process recorded": {Machine(), 0, true},
		"invalid process ID":  {Machine(), -1, true},
	} {
		seconds := int32(15)
		lease := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("alice"), RenewTime: new(metav1.NewMicroTime(now)), LeaseDurationSeconds: &seconds,
		}}
		lease.Annotations = leaserecord.Loop{Machine: test.machine, PID: test.pid}.Annotations()
		if l := LoopOf(lease); l.Live(now) != test.lives {
			t.Errorf("%s: Live = %t, want the opposite", name, l.Live(now))
		}
	}
}
