package lease

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/holder"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

func TestDeadHolder(t *testing.T) {
	t.Parallel()
	self := holder.Self("v1", leaserecord.Scope{Namespace: "a"})
	if self.Machine == "" || self.Holder == "" || self.User == "" || self.Host == "" {
		t.Fatalf("holder.Self = %#v, want a machine, a holder, a user, and a host", self)
	}
	l := &Lease{Self: self}
	for name, test := range map[string]struct {
		change func(*leaserecord.Loop)
		dead   bool
	}{
		"this loop":                     {func(*leaserecord.Loop) {}, false},
		"running process, same machine": {func(o *leaserecord.Loop) { o.Holder, o.PID = "x", 1 }, false},
		"other loop with the same PID":  {func(o *leaserecord.Loop) { o.Holder = "x" }, true},
		"other machine":                 {func(o *leaserecord.Loop) { o.Holder, o.Machine = "x", "other" }, false},
	} {
		other := self
		test.change(&other)
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Annotations: other.Annotations()}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &other.Holder}}
		if l.ended(holder.LoopOf(lease)) != test.dead {
			t.Errorf("%s: ended = %v, want %v", name, !test.dead, test.dead)
		}
	}
}

const leaseName = "imoocpod-run-controller"

func leaseOf(holder string, seconds, transitions int32) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: leaseName}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: &holder, LeaseDurationSeconds: &seconds, LeaseTransitions: &transitions,
		RenewTime: new(metav1.NewMicroTime(time.Now().Add(1000 * time.Hour))),
	}}
}

// Without permission to read the lease, Hold immediately returns an error that suggests a flag.
func TestHoldWithoutPermissionToRead(t *testing.T) {
	t.Parallel()
	s, l := leaseIn(t, nil)
	s.Forbid(apiserver.On("get", "leases"))
	err := l.Hold(t.Context(), func(context.Context, bool) error {
		t.Error("the work starts without the lease")
		return nil
	})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "--leader-elect=false") {
		t.Errorf("Hold returned %v, want a Forbidden error that suggests --leader-elect=false", err)
	}
}

// leaseIn returns a server that has the given lease, if any, and a Lease for the loop "self".
func leaseIn(t *testing.T, lease *coordinationv1.Lease) (*apiserver.Server, *Lease) {
	t.Helper()
	s := apiserver.New(t)
	s.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	if lease != nil {
		s.Create(lease)
	}
	client, err := coordinationv1client.NewForConfig(s.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return s, &Lease{
		Client: client, Clock: clock.RealClock{}, Log: func(string, ...any) {}, OnChange: func(string, bool) {},
		Self: leaserecord.Loop{Holder: "self", Scope: leaserecord.Scope{Namespace: "a"}},
	}
}

// put creates a lease on a server, or replaces its spec in one write, so that no loop finds the lease missing.
func put(t *testing.T, s *apiserver.Server, lease *coordinationv1.Lease) {
	t.Helper()
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&lease.Spec)
	if err != nil {
		t.Error(err)
	}
	if s.Update("leases", lease.Namespace, lease.Name, func(stored *unstructured.Unstructured) { stored.Object["spec"] = spec }) == nil {
		s.Create(lease)
	}
}

func holderOf(lease *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity")
	return name
}

// A stopped loop renews its lease until its work is done. Then it releases the lease. If the loop did not have to wait
// for the lease, resumed is false.
func TestLeaseIsHeldUntilTheWorkIsDone(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, l := leaseIn(t, leaseOf("", 1, 0))
		s.OnWrite(func(c apiserver.Change) {
			if c.Resource.Resource == "leases" && holderOf(c.Object()) == "" && l.held() {
				t.Error("the lease was released, but writes are still allowed")
			}
		})
		stored := func() *unstructured.Unstructured { return s.Get("leases", "a", leaseName) }
		ctx, stop := context.WithCancel(t.Context())
		if err := l.Hold(ctx, func(working context.Context, resumed bool) error {
			if resumed {
				t.Error("resumed = true for a lease that had been released")
			}
			stop()
			<-working.Done()
			<-time.After(2 * leaseDuration) // writes in flight complete
			if !l.held() || holderOf(stored()) != "self" {
				t.Errorf("before the work was done: held = %v, lease holder = %q; want true and self", l.held(), holderOf(stored()))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		seconds, _, _ := unstructured.NestedInt64(stored().Object, "spec", "leaseDurationSeconds")
		if l.held() || holderOf(stored()) != "" || seconds != 1 {
			t.Errorf("after the work: held = %v, lease holder = %q for %d seconds; want false and no holder for 1 second", l.held(), holderOf(stored()), seconds)
		}
	})
}

// A loop that cannot renew its lease stops its work. It releases the lease only when the work is done.
func TestUnrenewedLeaseIsHeldUntilTheWorkIsDone(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, l := leaseIn(t, nil)
		ctx, stop := context.WithCancel(t.Context())
		err := l.Hold(ctx, func(working context.Context, resumed bool) error {
			if resumed {
				t.Error("resumed = true for a lease that did not exist")
			}
			end := s.Fail(apiserver.On("update", "leases"), apiserver.Fault{Err: apierrors.NewInternalError(errors.New("no leader"))})
			<-working.Done()
			end()
			stop() // otherwise, Hold would wait for the lease again
			<-time.After(time.Second)
			if holder := holderOf(s.Get("leases", "a", leaseName)); holder != "self" {
				t.Errorf("before the work was done: lease holder = %q, want self", holder)
			}
			return nil
		})
		if !errors.Is(err, errLeaseLost) {
			t.Errorf("Hold returned %v, want %v", err, errLeaseLost)
		}
		if holder := holderOf(s.Get("leases", "a", leaseName)); holder != "" {
			t.Errorf("after the work: lease holder = %q, want none", holder)
		}
	})
}

// A loop releases only its own lease.
func TestRelease(t *testing.T) {
	t.Parallel()
	conflict := apierrors.NewConflict(coordinationv1.Resource("leases"), "a", errors.New("it has changed"))
	for name, test := range map[string]struct {
		stored string // the holder at the start
		first  error  // the error of the first write
		then   string // the holder after the failed first write
		writes int
		holder string // the holder at the end
	}{
		"held by this loop":    {"self", nil, "", 1, ""},
		"held by another loop": {"other", nil, "", 0, "other"},
		"not held":             {"", nil, "", 0, ""},
		"held by this loop, renewed concurrently": {"self", conflict, "self", 2, ""},
		"taken over concurrently":                 {"self", conflict, "other", 1, "other"},
		"held by this loop, server error":         {"self", apierrors.NewInternalError(errors.New("no leader")), "self", 1, "self"},
	} {
		s, l := leaseIn(t, leaseOf(test.stored, 15, 3))
		if test.first != nil {
			s.Fail(apiserver.On("update", "leases"), apiserver.Fault{Err: test.first, Times: 1, Before: func() { put(t, s, leaseOf(test.then, 15, 3)) }})
		}
		release(t.Context(), &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: "a", Name: leaseName}, LockConfig: resourcelock.ResourceLockConfig{Identity: "self"},
			Client: &client{LeaseInterface: l.Client.Leases("a"), lease: l, leads: true, stop: func(error) {}, lost: func(error) {}},
		})
		writes, holder := len(s.Requests(apiserver.Writes)), holderOf(s.Get("leases", "a", leaseName))
		if writes != test.writes || holder != test.holder {
			t.Errorf("%s: %d writes, lease holder = %q; want %d and %q", name, writes, holder, test.writes, test.holder)
		}
	}
}
