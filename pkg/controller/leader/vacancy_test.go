package leader

import (
	"context"
	"os/exec"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/imoocpod/kubectl-imoocpod/pkg/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/process"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// change has another loop write the lease on a server.
func change(t *testing.T, s *apiserver.Server, lease *coordinationv1.Lease) {
	t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(lease)
	if err != nil {
		t.Fatal(err)
	}
	s.As("other").Update("leases", lease.Namespace, lease.Name, func(obj *unstructured.Unstructured) { obj.Object["spec"] = fields["spec"] })
}

// renewedLease is one of another loop, renewed now.
func renewedLease() *coordinationv1.Lease {
	lease := leaseOf("other", int32(leaseDuration/time.Second), 0)
	lease.Spec.RenewTime = new(metav1.NewMicroTime(time.Now()))
	return lease
}

// held waits until a loop has the lease, and says when that was.
func held(t *testing.T, l *Lease) (since <-chan time.Time) {
	t.Helper()
	began := make(chan time.Time, 1)
	go func() {
		if err := l.Hold(t.Context(), func(context.Context, bool) error {
			began <- time.Now()
			return nil
		}); err != nil {
			t.Error(err)
		}
	}()
	return began
}

// A loop that waits has the lease as soon as another may: right after the other gives it
// up, and after the time of a lease that is not renewed any more, never before.
func TestLeaseIsTakenOverInTime(t *testing.T) {
	for name, test := range map[string]struct {
		ending   func() *coordinationv1.Lease // the last that the other loop writes
		from, to time.Duration                // after that
	}{
		"it gives it up":              {func() *coordinationv1.Lease { return leaseOf("", 1, 0) }, 0, readPeriod + alivePeriod},
		"it is not heard of any more": {renewedLease, leaseDuration, leaseDuration + readPeriod + alivePeriod},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s := serverWith(t, renewedLease())
				began := held(t, leaseIn(t, s))
				for range 8 {
					<-time.After(renewPeriod + 300*time.Millisecond)
					change(t, s, renewedLease())
				}
				<-time.After(1500 * time.Millisecond)
				change(t, s, test.ending())
				end := time.Now()
				if took := (<-began).Sub(end); took < test.from || took > test.to {
					t.Errorf("it is taken over after %s, want %s to %s", took, test.from, test.to)
				}
			})
		})
	}
}

// The lease of a process of this machine is taken over when the process has ended.
func TestLeaseOfAProcessThatEnds(t *testing.T) {
	machine := process.Machine()
	child := exec.Command("sleep", "3600")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	bubble.Test(t, func(t *testing.T) {
		lease := renewedLease()
		lease.Annotations = leaserecord.Loop{Machine: machine, PID: child.Process.Pid}.Annotations()
		s := serverWith(t, lease)
		l := leaseIn(t, s)
		l.Self.Machine = machine
		began := held(t, l)
		<-time.After(5500 * time.Millisecond)
		if err := child.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = child.Wait() // it was killed
		end := time.Now()
		if took := (<-began).Sub(end); took > 2*alivePeriod {
			t.Errorf("it is taken over after %s", took)
		}
	})
}
