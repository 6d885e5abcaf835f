package lease

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/holder"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// renewedLease returns a lease that another loop has just renewed.
func renewedLease() *coordinationv1.Lease {
	lease := leaseOf("other", int32(leaseDuration/time.Second), 0)
	lease.Spec.RenewTime = new(metav1.NewMicroTime(time.Now()))
	return lease
}

// held starts a loop that has to wait for the lease. It returns a channel that receives the time when the loop
// acquires the lease.
func held(t *testing.T, l *Lease) (since <-chan time.Time) {
	t.Helper()
	began := make(chan time.Time, 1)
	go func() {
		if err := l.Hold(t.Context(), func(_ context.Context, resumed bool) error {
			if !resumed {
				t.Error("resumed = false after waiting for the lease")
			}
			began <- time.Now()
			return nil
		}); err != nil {
			t.Error(err)
		}
	}()
	return began
}

// A lease that someone else wrote stops a loop only for a limited time, and never leads to a number
// of transitions that the server rejects.
func TestForeignLeaseIsBounded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lease       *coordinationv1.Lease
		seconds     int
		transitions int32
	}{
		"ordinary lease":            {leaseOf("other", 15, 3), 15, 3},
		"released lease":            {leaseOf("", 1, 3), 1, 3},
		"extremely long duration":   {leaseOf("other", math.MaxInt32, 3), 60, 3},
		"negative duration":         {leaseOf("other", -1, 3), 15, 3},
		"no duration":               {&coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: new("other")}}, 15, 0},
		"maximum transition count":  {leaseOf("other", 15, math.MaxInt32), 15, 0},
		"negative transition count": {leaseOf("other", 15, -1), 15, 0},
	} {
		if got := durationOf(test.lease); got != time.Duration(test.seconds)*time.Second {
			t.Errorf("%s: durationOf = %s, want %d seconds", name, got, test.seconds)
		}
		if got := ptr.Deref(vacated(test.lease).Spec.LeaseTransitions, 0); got != test.transitions {
			t.Errorf("%s: vacated lease has %d transitions, want %d", name, got, test.transitions)
		}
	}
}

// A waiting loop takes over soon after the other loop has released the lease, or when the lease
// expires. It never takes over earlier.
func TestLeaseIsTakenOverInTime(t *testing.T) {
	for name, test := range map[string]struct {
		last     func() *coordinationv1.Lease // the lease when the other loop ends
		from, to time.Duration                // duration until the takeover
	}{
		"released":          {func() *coordinationv1.Lease { return leaseOf("", 1, 0) }, 0, readPeriod + alivePeriod},
		"no longer renewed": {renewedLease, leaseDuration, leaseDuration + readPeriod + alivePeriod},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s, l := leaseIn(t, renewedLease())
				began := held(t, l)
				for range 8 {
					<-time.After(renewPeriod + 300*time.Millisecond)
					put(t, s, renewedLease())
				}
				<-time.After(1500 * time.Millisecond)
				put(t, s, test.last())
				end := time.Now()
				if took := (<-began).Sub(end); took < test.from || took > test.to {
					t.Errorf("lease taken over after %s, want %s to %s", took, test.from, test.to)
				}
			})
		})
	}
}

// With ExitIfHeld, a loop exits when it sees a renewal, and takes over a lease without renewals.
// The clock of the other machine does not matter.
func TestExitIfHeld(t *testing.T) {
	for name, test := range map[string]struct {
		clock  time.Duration // how far the other machine's clock is ahead
		renews bool
	}{
		"running":               {0, true},
		"running, clock behind": {-time.Hour, true},
		"running, clock ahead":  {time.Hour, true},
		"crashed":               {0, false},
		"crashed, clock ahead":  {30 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				renewed := func() *coordinationv1.Lease {
					lease := renewedLease()
					lease.Spec.RenewTime = new(metav1.NewMicroTime(time.Now().Add(test.clock)))
					return lease
				}
				s, l := leaseIn(t, renewed())
				begun, works := time.Now(), false
				if test.renews {
					time.AfterFunc(renewPeriod, func() { put(t, s, renewed()) })
				}
				l.ExitIfHeld = true
				err := l.Hold(t.Context(), func(context.Context, bool) error { works = true; return nil })
				if errors.Is(err, ErrHeld) != test.renews || works == test.renews {
					t.Errorf("work started: %t, Hold returned %v; want ErrHeld if the other loop is running, and work if it crashed", works, err)
				}
				if took, most := time.Since(begun), 2*renewPeriod; test.renews && took > most {
					t.Errorf("Hold returned after %s, want at most %s", took, most)
				}
			})
		})
	}
}

// A loop logs one line for each other loop that has an overlapping scope and renews its lease. The clock
// of the other machine does not matter.
func TestOverlapsAreReported(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, l := leaseIn(t, nil)
		renew := func(name string, clock time.Duration, scope leaserecord.Scope) {
			lease := renewedLease()
			lease.Name, lease.Annotations = "of-"+name, leaserecord.Loop{Scope: scope}.Annotations()
			lease.Labels = map[string]string{apis.LabelController: apis.RunController}
			lease.Spec.HolderIdentity, lease.Spec.RenewTime = &name, new(metav1.NewMicroTime(time.Now().Add(clock)))
			put(t, s, lease)
		}
		renewAll := func() {
			renew("runs", 0, leaserecord.Scope{})
			renew("behind", -time.Hour, leaserecord.Scope{})
			renew("ahead", time.Hour, leaserecord.Scope{})
			renew("elsewhere", 0, leaserecord.Scope{Kinds: []string{"widgets.example.com"}})
			renew("", 0, leaserecord.Scope{})
		}
		renew("crashed", 0, leaserecord.Scope{})
		renewAll()
		time.AfterFunc(renewPeriod, renewAll)
		var names []string
		l.Log = func(format string, args ...any) {
			who, _, _ := strings.Cut(strings.TrimPrefix(fmt.Sprintf(format, args...), "another controller is running: "), ",")
			names = append(names, who)
		}
		begun := time.Now()
		l.reportOverlaps(t.Context())
		if want := []string{"ahead", "behind", "runs"}; !slices.Equal(names, want) {
			t.Errorf("reported holders = %q, want %q", names, want)
		}
		if took := time.Since(begun); took > leaseDuration {
			t.Errorf("reportOverlaps took %s, want at most the duration of a lease", took)
		}
	})
}

// The lease of a process on this machine is taken over when the process ends.
func TestLeaseOfAnEndedProcessIsTakenOver(t *testing.T) {
	machine := holder.Machine()
	child := exec.Command("sleep", "3600")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	bubble.Test(t, func(t *testing.T) {
		lease := renewedLease()
		lease.Annotations = leaserecord.Loop{Machine: machine, PID: child.Process.Pid}.Annotations()
		_, l := leaseIn(t, lease)
		began := held(t, l)
		<-time.After(5500 * time.Millisecond)
		if err := child.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = child.Wait() // the error reports that the process was killed
		end := time.Now()
		if took := (<-began).Sub(end); took > 2*alivePeriod {
			t.Errorf("lease taken over %s after its process ended, want at most two alivePeriods", took)
		}
	})
}
