// Package lease uses client-go's leader election, so that only one loop per scope works at a time.
package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/holder"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// The timing of a lease. All values except releaseTimeout are defaults of kube-controller-manager.
const (
	// leaseDuration is how long other loops wait for a loop that does not renew its lease.
	leaseDuration = 15 * time.Second
	// renewDeadline is how long a loop tries to renew its lease before it stops.
	renewDeadline = 10 * time.Second
	// renewPeriod is how often a loop renews its lease.
	renewPeriod = 2 * time.Second
	// releaseTimeout limits the release of the lease when a loop stops.
	releaseTimeout = 5 * time.Second
)

// Lease lets only one loop per scope work at a time. Two loops would be safe, but they would repeat each other's work.
type Lease struct {
	Client coordinationv1client.LeasesGetter
	// Self describes this loop. Its fields Since and Renewed are not used.
	Self leaserecord.Loop
	// ExitIfHeld makes Hold return ErrHeld when another loop renews the lease.
	ExitIfHeld bool
	// Log logs a line for the user who runs the loop.
	Log func(format string, args ...any)
	// OnChange is called with the namespace/name of the lease when Hold starts, and when the lease is acquired,
	// renewed, lost, or released.
	OnChange func(lease string, held bool)
	// Clock is the clock for renewals and for Fence.
	Clock clock.PassiveClock

	mu      sync.Mutex
	renewed time.Time // when the lease was last renewed; zero if the lease is not held

	overlaps sync.Once

	// Only Hold and its election use the following fields.
	resumed bool   // the loop had to wait for the lease at the start, or lost it
	failing bool   // the last request failed, and the error was logged
	said    string // the last line that was logged by say
}

// ErrHeld means that another loop holds the lease.
var ErrHeld = errors.New("another controller is running")

var errLeaseLost = errors.New("could not renew the lease in time")

// Hold acquires the lease, calls work, releases the lease when work returns, and returns the error of work. If the
// lease is lost, Hold cancels the context of work, waits for work to return, and starts again. Hold returns nil if ctx
// ends while it waits for the lease. It returns an error immediately if the lease cannot be read or written at the
// start. The argument resumed means that Hold had to wait for the lease or has lost it before.
func (l *Lease) Hold(ctx context.Context, work func(ctx context.Context, resumed bool) error) error {
	l.renewedAt(time.Time{})
	for ctx.Err() == nil {
		err := l.elect(ctx, work)
		if ctx.Err() != nil || !errors.Is(err, errLeaseLost) {
			return err
		}
		l.resumed = true
		l.say("%v; stopped reconciling, waiting for the lease", err)
	}
	return nil
}

// elect acquires the lease, and calls work once. It returns errLeaseLost if the lease is lost.
func (l *Lease) elect(ctx context.Context, work func(ctx context.Context, resumed bool) error) error {
	var looking sync.WaitGroup
	defer looking.Wait()
	working, end := context.WithCancelCause(ctx)
	defer end(nil)
	// After ctx ends, work completes its writes, so renew the lease until work returns.
	electing, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	interrupted := context.AfterFunc(ctx, func() { stop(nil) })

	namespace, name := l.Self.Scope.Lease()
	c := &client{LeaseInterface: l.Client.Leases(namespace), lease: l, stop: stop, lost: end}
	lock := &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Client: c,
		LockConfig: resourcelock.ResourceLockConfig{Identity: l.Self.Holder},
		Labels:     map[string]string{apis.LabelController: apis.RunController},
	}
	result := make(chan error, 1)
	// RunOrDie panics only if this config is invalid.
	leaderelection.RunOrDie(klog.NewContext(electing, quiet(ctx)), leaderelection.LeaderElectionConfig{
		Lock: lock, Name: name,
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: renewPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				interrupted()
				looking.Go(func() { l.overlaps.Do(func() { l.reportOverlaps(working) }) })
				result <- work(working, l.resumed)
				end(nil)
				stop(nil)
			},
			OnStoppedLeading: func() { end(errLeaseLost) },
		},
	})
	if !c.leads {
		if cause := context.Cause(electing); !errors.Is(cause, context.Canceled) {
			return cause
		}
		return nil
	}
	err := <-result
	l.renewedAt(time.Time{})
	release(ctx, lock)
	if cause := context.Cause(working); errors.Is(cause, errLeaseLost) {
		return cause
	}
	return err
}

// release releases the lease if this loop still holds it, so that other loops do not wait until it
// expires. The annotations still describe this loop.
func release(ctx context.Context, lock resourcelock.Interface) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	// The last renewal may still be in flight, so retry after a conflict. After any other error, let the lease expire.
	_ = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		record, _, err := lock.Get(ctx)
		if err != nil || record.HolderIdentity != lock.Identity() {
			return err
		}
		record.HolderIdentity, record.LeaseDurationSeconds = "", 1 // the server requires a duration
		return lock.Update(ctx, *record)
	})
}

// quiet returns the logger of the election, which logs only with -v=4. The loop logs important events itself.
func quiet(ctx context.Context) klog.Logger {
	if logger := klog.FromContext(ctx); logger.V(4).Enabled() {
		return logger
	}
	return logr.Discard()
}

// ended reports whether another loop is known to have ended. On this machine, this includes a loop with
// the PID of this process: for example, a restarted container has the PID of its predecessor.
func (l *Lease) ended(other leaserecord.Loop) bool {
	reused := other.Machine != "" && other.Machine == l.Self.Machine && other.PID == l.Self.PID
	return other.Holder != l.Self.Holder && (other.Ended || reused)
}

func (l *Lease) say(format string, args ...any) {
	if line := fmt.Sprintf(format, args...); line != l.said {
		l.said = line
		l.Log("%s", line)
	}
}

// reportOverlaps logs which other loops may reconcile some of the same objects. It lists their leases
// twice, renewDeadline apart, and reports only loops that have renewed their leases in between.
func (l *Lease) reportOverlaps(ctx context.Context) {
	before := map[string]time.Time{} // when each holder last renewed its lease
	for _, other := range l.overlapping(ctx) {
		before[other.Holder] = other.Renewed
	}
	if len(before) == 0 {
		return
	}
	if follow.Sleep(ctx, renewDeadline) != nil { // a loop that cannot renew its lease in this time stops
		return
	}
	for _, other := range l.overlapping(ctx) {
		if renewed, known := before[other.Holder]; known && !renewed.Equal(other.Renewed) {
			l.Log("another controller is running: %s, reconciles %s; both reconcile the objects that they have in common", other, other.Scope)
		}
	}
}

// overlapping lists other loops with overlapping scopes. It skips namespaces whose leases it cannot list.
func (l *Lease) overlapping(ctx context.Context) []leaserecord.Loop {
	namespaces := []string{l.Self.Scope.Namespace}
	if own, _ := l.Self.Scope.Lease(); own != apis.LeaseNamespaceForAll {
		namespaces = append(namespaces, apis.LeaseNamespaceForAll)
	}
	var overlapping []leaserecord.Loop
	for _, namespace := range namespaces {
		leases, err := l.Client.Leases(namespace).List(ctx, metav1.ListOptions{LabelSelector: holder.Selector})
		if err != nil {
			klog.FromContext(ctx).V(1).Info("Cannot look for other controllers", "namespace", namespace, "err", err)
			continue
		}
		for _, lease := range leases.Items {
			other := holder.LoopOf(&lease)
			works := other.Holder != "" && other.Holder != l.Self.Holder && !l.ended(other)
			if works && other.Scope.Overlaps(l.Self.Scope) {
				overlapping = append(overlapping, other)
			}
		}
	}
	return overlapping
}
