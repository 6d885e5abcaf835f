package lease

import (
	"context"
	"fmt"
	"math"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/holder"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

const (
	// readPeriod is how often a waiting loop reads the lease. client-go alone would do so every two to four seconds.
	readPeriod = time.Second
	// alivePeriod is how often a waiting loop checks whether a holder on this machine is running.
	alivePeriod = 100 * time.Millisecond
)

// client is the lease client of an election. Get waits for the lease, and writes add annotations about this loop.
type client struct {
	coordinationv1client.LeaseInterface
	lease *Lease
	// leads means that this loop has acquired the lease. since is the time of the acquisition.
	leads bool
	since metav1.MicroTime
	// stop ends the election. lost cancels the leader's work.
	stop, lost context.CancelCauseFunc
}

// Leases returns the client itself, because all requests are for the same lease.
func (c *client) Leases(string) coordinationv1client.LeaseInterface { return c }

// Get waits until this loop can acquire the lease, and returns the lease. The holder must have released the lease, must
// have failed to renew it in time, or must be a process on this machine that has ended. With ExitIfHeld, Get ends the
// election when it sees a renewal, because only a renewal proves that the holder is running.
func (c *client) Get(ctx context.Context, name string, opts metav1.GetOptions) (*coordinationv1.Lease, error) {
	var seen *coordinationv1.LeaseSpec // as the holder last wrote it
	var expires time.Time              // by this machine's clock, because the holder's clock may differ
	for ctx.Err() == nil {
		object, err := c.LeaseInterface.Get(ctx, name, opts)
		if err != nil {
			if !apierrors.IsNotFound(err) {
				c.failed(ctx, err)
			}
			return nil, err
		}
		c.lease.failing = false
		other := holder.LoopOf(object)
		held := fmt.Errorf("%w: %s, reconciles %s", ErrHeld, other, other.Scope)
		switch {
		case other.Holder == c.lease.Self.Holder:
			return object, nil
		case other.Holder == "":
			return vacated(object), nil
		case c.leads: // this machine was suspended, or someone edited the lease
			c.lease.renewedAt(time.Time{})
			c.lost(fmt.Errorf("%w: %w", errLeaseLost, held))
			c.stop(nil)
			return nil, held
		case c.lease.ended(other):
			c.lease.say("taking over from %s: its process has ended", other)
			return vacated(object), nil
		case seen == nil || !equality.Semantic.DeepEqual(*seen, object.Spec):
			if seen != nil && c.lease.ExitIfHeld {
				c.stop(held)
				return nil, held
			}
			seen, expires = object.Spec.DeepCopy(), time.Now().Add(durationOf(object))
		case !time.Now().Before(expires):
			return vacated(object), nil
		}
		c.lease.resumed = true
		if c.lease.ExitIfHeld {
			c.lease.say("waiting to see whether %s renews the lease", other)
		} else {
			c.lease.say("%v; waiting until it stops", held)
		}
		_ = wait.PollUntilContextTimeout(ctx, alivePeriod, readPeriod, false, func(context.Context) (bool, error) {
			return c.lease.ended(holder.LoopOf(object)), nil
		})
	}
	return nil, ctx.Err()
}

// durationOf returns how long a lease is valid after a renewal, up to a limit, because others can write the lease.
func durationOf(object *coordinationv1.Lease) time.Duration {
	duration := time.Duration(ptr.Deref(object.Spec.LeaseDurationSeconds, 0)) * time.Second
	if duration <= 0 {
		return leaseDuration
	}
	return min(duration, leaserecord.Longest)
}

// vacated removes the holder from a lease, so that the election acquires the lease.
func vacated(object *coordinationv1.Lease) *coordinationv1.Lease {
	object.Spec.HolderIdentity = nil
	if n := ptr.Deref(object.Spec.LeaseTransitions, 0); n < 0 || n == math.MaxInt32 {
		object.Spec.LeaseTransitions = nil // the server rejects a count that overflows
	}
	return object
}

// Create creates the lease.
func (c *client) Create(ctx context.Context, object *coordinationv1.Lease, opts metav1.CreateOptions) (*coordinationv1.Lease, error) {
	opts.FieldManager = kinds.FieldManager
	return c.write(ctx, object, func() (*coordinationv1.Lease, error) { return c.LeaseInterface.Create(ctx, object, opts) })
}

// Update writes the lease. It fails if the lease has changed since it was read.
func (c *client) Update(ctx context.Context, object *coordinationv1.Lease, opts metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	opts.FieldManager = kinds.FieldManager
	return c.write(ctx, object, func() (*coordinationv1.Lease, error) { return c.LeaseInterface.Update(ctx, object, opts) })
}

func (c *client) write(ctx context.Context, object *coordinationv1.Lease, send func() (*coordinationv1.Lease, error)) (*coordinationv1.Lease, error) {
	for name, value := range c.lease.Self.Annotations() {
		metav1.SetMetaDataAnnotation(&object.ObjectMeta, name, value)
	}
	sent := c.lease.Clock.Now()
	if !c.leads {
		c.since = metav1.NewMicroTime(sent)
	}
	// The election sets both times before it calls Get, which can wait for a long time.
	object.Spec.AcquireTime, object.Spec.RenewTime = &c.since, new(metav1.NewMicroTime(sent))
	written, err := send()
	switch {
	case err != nil:
		c.failed(ctx, err)
		return nil, err
	case *object.Spec.HolderIdentity == "":
		return written, nil
	case !c.leads && c.lease.said != "":
		c.lease.say("acquired the lease")
	}
	c.leads = true
	c.lease.renewedAt(sent)
	return written, nil
}

// failed handles the error of a request. At the start, an error other than a conflict ends the election. Later, the
// election retries. A loop that waits for the lease logs only the first of consecutive errors.
func (c *client) failed(ctx context.Context, err error) {
	switch {
	case c.leads || ctx.Err() != nil || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err):
	case apierrors.IsForbidden(err) && !c.lease.resumed:
		c.stop(fmt.Errorf("%w; the lease keeps a second controller from doing the same work; to run without it, pass --leader-elect=false", err))
	case !c.lease.resumed:
		c.stop(err)
	case !c.lease.failing:
		c.lease.failing = true
		c.lease.say("cannot acquire the lease: %v; trying again", err)
	}
}
