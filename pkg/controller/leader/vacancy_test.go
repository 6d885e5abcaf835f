package leader

import (
	"context"
	"os/exec"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/process"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// change replaces the lease of a store.
func (s *leaseStore) change(lease *coordinationv1.Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lease = lease
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
		ending   func(s *leaseStore) // of the other loop
		from, to time.Duration       // after that
	}{
		"it gives it up":              {func(s *leaseStore) { s.change(leaseOf("", 1, 0)) }, 0, readPeriod + alivePeriod},
		"it is not heard of any more": {func(s *leaseStore) { s.change(renewedLease()) }, leaseDuration, leaseDuration + readPeriod + alivePeriod},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s := &leaseStore{lease: renewedLease()}
				began := held(t, leaseIn(t, s))
				for range 8 {
					<-time.After(renewPeriod + 300*time.Millisecond)
					s.change(renewedLease())
				}
				<-time.After(1500 * time.Millisecond)
				test.ending(s)
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
		s := &leaseStore{lease: lease}
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
