// Package leader lets one loop of a scope work at a time: by client-go's election
// with a lock of its own, which writes who it is and knows that a holder is dead.
package lease

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/process"
)

// The times of a lease, which are those of Kubernetes' own controllers.
const (
	// leaseDuration is how long a loop that is not heard of keeps others waiting.
	leaseDuration = 15 * time.Second
	// renewDeadline is how long a loop tries to renew its lease until it stops.
	renewDeadline = 10 * time.Second
	// renewPeriod is how often a lease is renewed.
	renewPeriod = 2 * time.Second
	// writesFor is how long after a renewal writes are begun: until shortly before
	// another may have the lease.
	writesFor = leaseDuration - renewPeriod
	// releaseTimeout bounds the giving up of a lease when a loop stops.
	releaseTimeout = 5 * time.Second
)

// Lease lets one loop of a scope work at a time. Two would do no harm, but each
// would do what the other has done.
type Lease struct {
	// Client reaches the lease.
	Client coordinationv1client.LeasesGetter
	// Self is this loop; Since, Renewed and For are not used.
	Self leaserecord.Loop
	// ExitIfHeld makes Hold return a HeldError when it sees that another loop renews the lease.
	ExitIfHeld bool
	// Log takes a line for the person who watches the loop.
	Log func(format string, args ...any)
	// OnChange, if given, is told whether the lease, given as namespace/name, is held.
	OnChange func(lease string, held bool)
	// Clock tells the time, with jumps; nil means the machine's.
	Clock clock.PassiveClock

	mu      sync.Mutex
	renewed time.Time // the last time, zero while the lease is not held

	seen sighting // of the lease while another loop holds it
}

// HeldError says that another loop has the lease.
type HeldError struct{ By leaserecord.Loop }

func (e *HeldError) Error() string {
	return fmt.Sprintf("another controller is running: %s, reconciles %s", e.By, e.By.Scope)
}

var (
	errLeaseLost    = errors.New("could not renew the lease in time")
	errLeaseNotHeld = errors.New("refusing to write without the lease")
)

// Hold waits for the lease and does the work while it has it, again and again
// if it loses it; then the context of the work ends early. The lease is given
// up when the work is done. Hold returns what the work does, nil if it was
// stopped while it waited, and an error at once where rights are missing. The
// work is told whether it resumes: all but what has the lease right at the start.
func (l *Lease) Hold(ctx context.Context, work func(ctx context.Context, resumed bool) error) error {
	l.tell(false)
	for first, waited := true, false; ctx.Err() == nil; {
		err := l.term(ctx, first, waited, work)
		switch {
		case errors.Is(err, errHeld):
			if err := l.awaitVacancy(ctx); err != nil {
				return err
			}
			waited = true
		case ctx.Err() != nil || !errors.Is(err, errLeaseLost):
			return err
		default:
			l.Log("%v; stopped reconciling, waiting for the lease", err)
			first, waited = false, false
		}
	}
	return nil // it was stopped while it waited
}

// term takes the lease, and works until it is lost or the work is done. If another loop
// holds it, term returns errHeld; waited says that it has already done so.
func (l *Lease) term(ctx context.Context, first, waited bool, work func(ctx context.Context, resumed bool) error) error {
	lock := &lock{lease: l, insist: first && !waited}
	// The lease is renewed until the work is done, which finishes its writes when
	// ctx ends.
	electing, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	lock.stop = stop
	interrupted := context.AfterFunc(ctx, func() { stop(nil) })
	result := make(chan error, 1)
	_, name := l.Self.Scope.Lease()
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, Name: name,
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: renewPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				interrupted()
				defer stop(nil)
				var telling sync.WaitGroup
				defer telling.Wait()
				working, end := context.WithCancelCause(ctx)
				defer end(nil)
				defer context.AfterFunc(leading, func() { end(lock.lost()) })()
				if first {
					telling.Go(func() { l.tellOverlaps(working) })
				}
				// Nobody writes to insist any more: the lock is led.
				err := work(working, !lock.insist)
				if cause := context.Cause(working); errors.Is(cause, errLeaseLost) {
					err = cause
				}
				result <- err
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("acquire the lease %s: %w", lock.Describe(), err)
	}
	elector.Run(klog.NewContext(electing, quiet(ctx)))
	if !lock.led { // Run has returned, so nobody else looks at the lock
		if cause := context.Cause(electing); !errors.Is(cause, context.Canceled) {
			return cause
		}
		return nil
	}
	err = <-result
	l.drop()
	lock.release(ctx) // if it is still held
	return err
}

// quiet is the logger of the election. What is worth a line is said in the
// loop's own words; the election's are for those who ask with -v=4.
func quiet(ctx context.Context) klog.Logger {
	if logger := klog.FromContext(ctx); logger.V(4).Enabled() {
		return logger
	}
	return logr.Discard()
}

// Fence lets requests that write through only while the lease is held. The
// work is stopped when the lease is lost; but a machine that slept does not
// know yet that it lost it.
func (l *Lease) Fence(next http.RoundTripper) http.RoundTripper {
	return fence{lease: l, next: next}
}

type fence struct {
	lease *Lease
	next  http.RoundTripper
}

// RoundTrip sends a request, unless it writes and the lease is not held.
func (f fence) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead && !f.lease.held() {
		return nil, errLeaseNotHeld
	}
	return f.next.RoundTrip(r)
}

// held reports whether no other can have the lease yet.
func (l *Lease) held() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.renewed.IsZero() {
		return false
	}
	// The time of the wall counts while the machine sleeps; the monotonic one
	// counts when somebody sets the clock back.
	now := l.now()
	return now.Sub(l.renewed) < writesFor && now.Round(0).Sub(l.renewed.Round(0)) < writesFor
}

// renewedAt notes a renewal by when it was sent.
func (l *Lease) renewedAt(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed = sent
	l.tell(true)
}

// drop ends the right to write.
func (l *Lease) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed = time.Time{}
	l.tell(false)
}

func (l *Lease) tell(held bool) {
	if l.OnChange != nil {
		namespace, name := l.Self.Scope.Lease()
		l.OnChange(namespace+"/"+name, held)
	}
}

func (l *Lease) now() time.Time {
	if l.Clock == nil {
		return time.Now()
	}
	return l.Clock.Now()
}

// tellOverlaps says which other loops work on some of the same objects: those whose leases
// it sees renewed. It is a convenience: who may not list leases is told nothing.
func (l *Lease) tellOverlaps(ctx context.Context) {
	own, name := l.Self.Scope.Lease()
	where := []string{l.Self.Scope.Namespace}
	if own != apis.LeaseNamespaceForAll {
		where = append(where, apis.LeaseNamespaceForAll)
	}
	var seen map[cache.ObjectName]coordinationv1.LeaseSpec // those whose renewal is awaited
	// A loop that runs renews its lease in that time. The context ends with the work.
	_ = wait.PollUntilContextTimeout(ctx, renewPeriod, leaseDuration, true, func(ctx context.Context) (done bool, err error) {
		first := seen == nil
		if first {
			seen = map[cache.ObjectName]coordinationv1.LeaseSpec{}
		}
		for _, namespace := range where {
			leases, err := l.Client.Leases(namespace).List(ctx, metav1.ListOptions{LabelSelector: apis.LabelController + "=" + apis.RunController})
			if err != nil {
				klog.FromContext(ctx).V(1).Info("Cannot look for other controllers", "namespace", namespace, "err", err)
				continue
			}
			for i := range leases.Items {
				lease := &leases.Items[i]
				other, at := leaserecord.LoopOf(lease), cache.MetaObjectToName(lease)
				if other.Holder == "" || l.dead(other) || !other.Scope.Overlaps(l.Self.Scope) || at == cache.NewObjectName(own, name) {
					continue
				}
				before, awaited := seen[at]
				switch {
				case first:
					seen[at] = lease.Spec
				case awaited && !equality.Semantic.DeepEqual(before, lease.Spec):
					delete(seen, at)
					l.Log("another controller is running: %s, reconciles %s; both reconcile the objects that they have in common", other, other.Scope)
				}
			}
		}
		return len(seen) == 0, nil
	})
}

// dead reports whether a loop is a process of this machine that has ended.
func (l *Lease) dead(other leaserecord.Loop) bool {
	if other.Machine == "" || other.Machine != l.Self.Machine || other.Holder == l.Self.Holder {
		return false
	}
	return other.PID == l.Self.PID || !process.Alive(other.PID)
}

// explainLease says what to do about a lease that one may not have.
func explainLease(err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w; the lease keeps a second controller from doing the same work; to run without it, pass --leader-elect=false", err)
	}
	return err
}
