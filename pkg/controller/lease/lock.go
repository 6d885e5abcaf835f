package lease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// lock is the lease for the election of client-go. The lock that comes with it
// writes no annotations, and cannot know that a holder is dead.
type lock struct {
	lease *Lease
	// stop ends the election, with the reason.
	stop context.CancelCauseFunc
	// insist makes an error of a server that cannot be reached and of missing
	// rights, as at the start of a loop. Once it waits, they are waited out.
	insist bool

	object *coordinationv1.Lease // as last read or written
	led    bool                  // the lease was had
	taken  error                 // by whom it was taken away
	said   string                // the last thing that was said while waiting
	ailing bool                  // and that the server could not be asked
}

var _ resourcelock.Interface = (*lock)(nil)

// Identity is the holder that the lease is to have.
func (l *lock) Identity() string { return l.lease.Self.Holder }

// Describe names the lease.
func (l *lock) Describe() string {
	namespace, name := l.lease.Self.Scope.Lease()
	return namespace + "/" + name
}

// RecordEvent does nothing: the lease itself says who has it since when.
func (l *lock) RecordEvent(string) {}

// Get reads the lease, as far as it is believed. One that ran out, or whose holder is
// known to be dead, reads as given up.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	namespace, name := l.lease.Self.Scope.Lease()
	object, err := l.lease.Client.Leases(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, nil, l.failed(ctx, err)
	}
	l.object, l.ailing = object, false
	record := resourcelock.LeaseSpecToLeaderElectionRecord(&object.Spec)
	bound(record)
	if holder := leaserecord.LoopOf(object); holder.Holder != "" && holder.Holder != l.Identity() {
		switch {
		case l.lease.dead(holder):
			l.say("taking over from %s: its process has ended", holder)
			record.HolderIdentity = ""
		case !l.led && l.lease.ranOut(object):
			record.HolderIdentity = ""
		default:
			l.heldBy(holder)
		}
	}
	raw, err := json.Marshal(record)
	return record, raw, err
}

// bound keeps what anybody may have written into a lease from stopping a loop for
// good: a lease that is not renewed counts for a minute at the most, and the number
// of its holders stays one that the server takes when it grows. When it was
// renewed is not believed anyway: the election goes by its own clock, from when it
// saw the last change.
func bound(record *resourcelock.LeaderElectionRecord) {
	if record.LeaseDurationSeconds < 1 {
		record.LeaseDurationSeconds = int(leaseDuration / time.Second)
	}
	record.LeaseDurationSeconds = min(record.LeaseDurationSeconds, int(leaserecord.Longest/time.Second))
	if record.LeaderTransitions < 0 || record.LeaderTransitions >= math.MaxInt32 {
		record.LeaderTransitions = 0
	}
}

// heldBy tells of another holder. If this loop was one before, it has lost the
// lease: it slept, or somebody wrote the lease by hand.
func (l *lock) heldBy(holder leaserecord.Loop) {
	held := &HeldError{By: holder}
	switch {
	case l.led:
		l.taken = fmt.Errorf("%w: %w", errLeaseLost, held)
		l.lease.drop()
		l.stop(l.taken)
	default:
		l.insist = false
		if l.lease.ExitIfHeld {
			l.say("waiting to see whether %s renews the lease", holder)
		} else {
			l.say("%s; waiting until it stops", held)
		}
		l.stop(errHeld)
	}
}

// Create makes the lease.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	namespace, name := l.lease.Self.Scope.Lease()
	return l.write(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, record,
		func(ctx context.Context, object *coordinationv1.Lease) (*coordinationv1.Lease, error) {
			return l.lease.Client.Leases(namespace).Create(ctx, object, metav1.CreateOptions{FieldManager: kinds.FieldManager})
		})
}

// Update writes the lease, on condition that it is as it was read.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if l.object == nil {
		return errors.New("the lease has not been read yet")
	}
	return l.write(ctx, l.object.DeepCopy(), record,
		func(ctx context.Context, object *coordinationv1.Lease) (*coordinationv1.Lease, error) {
			return l.lease.Client.Leases(object.Namespace).Update(ctx, object, metav1.UpdateOptions{FieldManager: kinds.FieldManager})
		})
}

func (l *lock) write(ctx context.Context, object *coordinationv1.Lease, record resourcelock.LeaderElectionRecord,
	send func(context.Context, *coordinationv1.Lease) (*coordinationv1.Lease, error)) error {
	metav1.SetMetaDataLabel(&object.ObjectMeta, apis.LabelController, apis.RunController)
	for name, value := range l.lease.Self.Annotations() {
		metav1.SetMetaDataAnnotation(&object.ObjectMeta, name, value)
	}
	object.Spec = resourcelock.LeaderElectionRecordToLeaseSpec(&record)
	sent := l.lease.now()
	written, err := send(ctx, object)
	if err != nil {
		return l.failed(ctx, err)
	}
	l.object = written
	if record.HolderIdentity == l.Identity() {
		l.lease.renewedAt(sent)
		if !l.led && (l.said != "" || !l.insist) {
			l.say("acquired the lease")
		}
		l.led = true
	}
	return nil
}

// failed tells of a request that did not succeed, if waiting is all there is to
// do about it; the election tries again. A lease that is held is another
// matter: it is lost if that goes on.
func (l *lock) failed(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil, l.led, apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
	case apierrors.IsNotFound(err) && l.object == nil: // it is made next
	case l.insist && (l.object == nil || apierrors.IsForbidden(err)):
		l.stop(explainLease(err))
	case !l.ailing:
		l.insist, l.ailing = false, true
		l.say("cannot acquire the lease: %v; trying again", err)
	}
	return err
}

// say says a line, unless it was the last one already.
func (l *lock) say(format string, args ...any) {
	if line := fmt.Sprintf(format, args...); line != l.said {
		l.said = line
		l.lease.Log("%s", line)
	}
}

// lost is why the lease is not held any more.
func (l *lock) lost() error {
	if l.taken != nil {
		return l.taken
	}
	return errLeaseLost
}

// release gives the lease up, so that nobody needs to wait until it runs out.
// Who held it stays to be read.
func (l *lock) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	for ctx.Err() == nil {
		record := resourcelock.LeaseSpecToLeaderElectionRecord(&l.object.Spec)
		if record.HolderIdentity != l.Identity() {
			return
		}
		record.HolderIdentity, record.LeaseDurationSeconds = "", 1 // the server wants one
		err := l.Update(ctx, *record)
		if !apierrors.IsConflict(err) {
			return
		}
		// The last renewal was carried out after nobody waited for it any more.
		if _, _, err := l.Get(ctx); err != nil {
			return
		}
	}
}
