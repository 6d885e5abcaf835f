package lease

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/holder"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

func TestDeadHolder(t *testing.T) {
	t.Parallel()
	self := holder.Self("v1", leaserecord.Scope{Namespace: "a"})
	if self.Machine == "" || self.Holder == "" || self.User == "" || self.Host == "" {
		t.Fatalf("this process is %+v", self)
	}
	l := &Lease{Self: self}
	for name, test := range map[string]struct {
		change func(*leaserecord.Loop)
		dead   bool
	}{
		"this loop":               {func(*leaserecord.Loop) {}, false},
		"its parent, which lives": {func(o *leaserecord.Loop) { o.Holder, o.PID = "x", 1 }, false},
		"one of its number":       {func(o *leaserecord.Loop) { o.Holder = "x" }, true},
		"a number that is free":   {func(o *leaserecord.Loop) { o.Holder, o.PID = "x", 1<<30 }, true},
		"on another machine":      {func(o *leaserecord.Loop) { o.Holder, o.PID, o.Machine = "x", 1<<30, "other" }, false},
		"on nobody knows which":   {func(o *leaserecord.Loop) { o.Holder, o.PID, o.Machine = "x", 1<<30, "" }, false},
	} {
		other := self
		test.change(&other)
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Annotations: other.Annotations()}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &other.Holder}}
		if l.ended(holder.LoopOf(lease)) != test.dead {
			t.Errorf("%s: ended is %v, want %v", name, !test.dead, test.dead)
		}
	}
}

// leaseServer returns a client for a server with one lease, which no other loop writes.
func leaseServer(t *testing.T, lease *coordinationv1.Lease) coordinationv1client.LeasesGetter {
	t.Helper()
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if r.Method != http.MethodGet {
			lease = &coordinationv1.Lease{}
			if err := json.NewDecoder(r.Body).Decode(lease); err != nil {
				t.Error(err)
			}
		}
		if lease == nil {
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
				Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
			return
		}
		_ = json.NewEncoder(w).Encode(lease)
	}))
	t.Cleanup(server.Close)
	client, err := coordinationv1client.NewForConfig(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func leaseOf(holder string, seconds, transitions int32) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "imoocpod-run-controller"}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: &holder, LeaseDurationSeconds: &seconds, LeaseTransitions: &transitions,
		RenewTime: new(metav1.NewMicroTime(time.Now().Add(1000 * time.Hour))),
	}}
}

// A loop that had to wait for the lease resumes. A loop that finds the lease free at the start does
// not.
func TestHoldResumes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lease   *coordinationv1.Lease
		resumed bool
	}{
		"a lease that is free":     {nil, false},
		"a lease that is given up": {leaseOf("", 1, 0), false},
		"a lease that runs out":    {leaseOf("other", 1, 0), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got bool
			l := &Lease{
				Client: leaseServer(t, test.lease), Clock: clock.RealClock{}, Log: func(string, ...any) {},
				Self: leaserecord.Loop{Holder: "self", Scope: leaserecord.Scope{Namespace: "a"}},
			}
			if err := l.Hold(t.Context(), func(_ context.Context, resumed bool) error {
				got = resumed
				return nil
			}); err != nil || got != test.resumed {
				t.Errorf("it resumes: %v, error: %v", got, err)
			}
		})
	}
}

// leaseStore holds one lease, for a test in a bubble with a clock of its own.
type leaseStore struct {
	mu    sync.Mutex
	lease *coordinationv1.Lease
	// writes lists all requested writes. refuse, if set, returns an error for each write to refuse.
	writes []*coordinationv1.Lease
	refuse func(*coordinationv1.Lease) error
	// list, if set, returns the leases in the response to a list of the namespace a.
	list func() []*coordinationv1.Lease
}

// RoundTrip reads or writes the lease.
func (s *leaseStore) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method != http.MethodGet {
		lease := &coordinationv1.Lease{}
		if err := json.NewDecoder(r.Body).Decode(lease); err != nil {
			return nil, err
		}
		s.writes = append(s.writes, lease)
		if s.refuse != nil {
			if err := s.refuse(lease); err != nil {
				return answer(r, nil, err)
			}
		}
		s.lease = lease
	}
	if strings.HasSuffix(r.URL.Path, "/leases") && r.Method == http.MethodGet {
		items := []any{}
		if s.list != nil && strings.Contains(r.URL.Path, "/namespaces/a/") {
			for _, lease := range s.list() {
				items = append(items, lease)
			}
		}
		return answer(r, map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "LeaseList", "items": items}, nil)
	}
	if s.lease == nil {
		return answer(r, nil, apierrors.NewNotFound(coordinationv1.Resource("leases"), "a"))
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s.lease)
	return answer(r, fields, err)
}

// answer returns a response with an object or an error of the API.
func answer(r *http.Request, obj map[string]any, err error) (*http.Response, error) {
	code, content := http.StatusOK, any(obj)
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		told := status.Status()
		told.APIVersion, told.Kind = "v1", "Status"
		code, content = int(told.Code), told
	}
	text, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(text)),
	}, nil
}

// holder returns the holder of the stored lease.
func (s *leaseStore) holder() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.lease.Spec.HolderIdentity
}

// clientOf returns the client of an election for a lease.
func clientOf(l *Lease) *client {
	return &client{LeaseInterface: l.Client.Leases("a"), lease: l, stop: func(error) {}, lost: func(error) {}}
}

// leaseIn returns a Lease whose requests go to a store, for a loop that is called self.
func leaseIn(t *testing.T, s *leaseStore) *Lease {
	t.Helper()
	client, err := coordinationv1client.NewForConfigAndClient(
		&rest.Config{Host: "http://server", QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, &http.Client{Transport: s})
	if err != nil {
		t.Fatal(err)
	}
	return &Lease{Client: client, Clock: clock.RealClock{}, Log: func(string, ...any) {}, Self: leaserecord.Loop{Holder: "self", Scope: leaserecord.Scope{Namespace: "a"}}}
}

// A stopped loop renews its lease until its work is done, and then releases it.
func TestLeaseIsHeldUntilTheWorkIsDone(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &leaseStore{}
		l := leaseIn(t, s)
		s.refuse = func(written *coordinationv1.Lease) error {
			if *written.Spec.HolderIdentity == "" && l.held() {
				t.Error("the lease is given up, and writes are still let through")
			}
			return nil
		}
		ctx, stop := context.WithCancel(t.Context())
		if err := l.Hold(ctx, func(working context.Context, _ bool) error {
			stop()
			<-working.Done()
			<-time.After(2 * leaseDuration) // the writes under way come to their end
			if !l.held() || s.holder() != "self" {
				t.Errorf("before the work was done: held is %v, and the lease is that of %q", l.held(), s.holder())
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if l.held() || s.holder() != "" || *s.lease.Spec.LeaseDurationSeconds != 1 {
			t.Errorf("after the work: held is %v, and the lease is that of %q for %d seconds", l.held(), s.holder(), *s.lease.Spec.LeaseDurationSeconds)
		}
	})
}

// A loop that cannot renew its lease stops its work, and releases the lease when the work is done,
// not before.
func TestLeaseThatIsNotRenewedIsHeldUntilTheWorkIsDone(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &leaseStore{}
		l := leaseIn(t, s)
		ctx, stop := context.WithCancel(t.Context())
		err := l.Hold(ctx, func(working context.Context, _ bool) error {
			s.mu.Lock()
			s.refuse = func(*coordinationv1.Lease) error { return apierrors.NewInternalError(errors.New("no leader")) }
			s.mu.Unlock()
			<-working.Done()
			s.mu.Lock()
			s.refuse = nil
			s.mu.Unlock()
			stop() // otherwise, Hold would wait for the lease again
			<-time.After(time.Second)
			if s.holder() != "self" {
				t.Errorf("before the work was done, the lease is that of %q", s.holder())
			}
			return nil
		})
		if !errors.Is(err, errLeaseLost) {
			t.Errorf("the work ended with %v, want %v", err, errLeaseLost)
		}
		if s.holder() != "" {
			t.Errorf("after the work, the lease is that of %q", s.holder())
		}
	})
}

// A loop releases only its own lease.
func TestRelease(t *testing.T) {
	t.Parallel()
	conflict := apierrors.NewConflict(coordinationv1.Resource("leases"), "a", errors.New("it has changed"))
	for name, test := range map[string]struct {
		stored string // the holder
		first  error  // of the first write
		then   string // the holder after that
		writes int
		holder string // in the end
	}{
		"it is ours":                       {"self", nil, "", 1, ""},
		"another has it":                   {"other", nil, "", 0, "other"},
		"nobody has it":                    {"", nil, "", 0, ""},
		"ours, and renewed meanwhile":      {"self", conflict, "self", 2, ""},
		"another has taken it meanwhile":   {"self", conflict, "other", 1, "other"},
		"ours, and the server cannot tell": {"self", apierrors.NewInternalError(errors.New("no leader")), "self", 1, "self"},
	} {
		s := &leaseStore{lease: leaseOf(test.stored, 15, 3)}
		s.refuse = func(*coordinationv1.Lease) error {
			if len(s.writes) == 1 && test.first != nil {
				s.lease = leaseOf(test.then, 15, 3)
				return test.first
			}
			return nil
		}
		c := clientOf(leaseIn(t, s))
		c.leads = true
		release(t.Context(), &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: "a", Name: "imoocpod-run-controller"}, Client: c, LockConfig: resourcelock.ResourceLockConfig{Identity: "self"},
		})
		if len(s.writes) != test.writes || s.holder() != test.holder {
			t.Errorf("%s: %d writes, and the lease is that of %q; want %d and %q", name, len(s.writes), s.holder(), test.writes, test.holder)
		}
	}
}
