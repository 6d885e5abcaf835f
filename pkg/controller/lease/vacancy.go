package lease

import (
	"context"
	"errors"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
)

const (
	// readPeriod is how often a loop that waits reads the lease. The election of
	// client-go would do it every two to four seconds, and notice a renewal and its end
	// that much later.
	readPeriod = time.Second
	// alivePeriod is how often it looks whether a holder on this machine still runs.
	alivePeriod = 100 * time.Millisecond
)

// errHeld ends an election that another loop has won.
var errHeld = errors.New("another controller has the lease")

// sighting is a lease as it was first seen, and when it runs out if it stays like that.
// It is by the clock of this process: that of who renewed it may be another.
type sighting struct {
	spec *coordinationv1.LeaseSpec
	end  time.Time
	// renewed says that the lease was seen before, and was another then.
	renewed bool
}

// ranOut reports whether a lease that was just read has stayed as it is for as long as
// it counts.
func (l *Lease) ranOut(object *coordinationv1.Lease) bool {
	now := time.Now()
	if l.seen.spec == nil || !equality.Semantic.DeepEqual(*l.seen.spec, object.Spec) {
		record := resourcelock.LeaseSpecToLeaderElectionRecord(&object.Spec)
		bound(record)
		l.seen = sighting{renewed: l.seen.spec != nil, spec: object.Spec.DeepCopy(), end: now.Add(time.Duration(record.LeaseDurationSeconds) * time.Second)}
	}
	return !now.Before(l.seen.end)
}

// awaitVacancy waits while another loop holds the lease: until it gives it up, does not
// renew it in time, or was a process of this machine that has ended. It also returns if
// the lease cannot be read; the election says so. With ExitIfHeld, the first renewal ends
// the wait with a HeldError: nothing else shows that the holder runs.
func (l *Lease) awaitVacancy(ctx context.Context) error {
	ticker := time.NewTicker(alivePeriod)
	defer ticker.Stop()
	namespace, name := l.Self.Scope.Lease()
	var object *coordinationv1.Lease
	var read time.Time
	for {
		if now := time.Now(); object == nil || now.Sub(read) >= readPeriod {
			var err error
			if object, err = l.Client.Leases(namespace).Get(ctx, name, metav1.GetOptions{}); err != nil {
				return nil // see above
			}
			read = now
		}
		holder := leaserecord.LoopOf(object)
		if holder.Holder == "" || holder.Holder == l.Self.Holder || l.dead(holder) || l.ranOut(object) {
			return nil
		}
		if l.ExitIfHeld && l.seen.renewed {
			return &HeldError{By: holder}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}
