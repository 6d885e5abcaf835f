package e2e

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// I3: once converged, there is no reconcile and no write, not even after events that
// change nothing a plan reads.
func TestConvergedMeansQuiet(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	d := cluster.NewDriver(t, ns, w)
	d.Create(3)
	l := cluster.StartController(t, ns, nil, d.Check())
	w.AwaitConverged(t, "foo", 3)
	d.Scale(1)
	w.AwaitConverged(t, "foo", 1)
	pod := w.Owned("foo")[0]

	// Wait until the server's own follow-up work (garbage collection, endpoints) is
	// done.
	w.AwaitQuiet(t, time.Second)
	looks, writes := l.Reconciles(), len(cluster.Requests(t, ns, harness.ByControllerOf(t)))
	cluster.PatchFoo(t, ns, `{"metadata":{"annotations":{"a":"b"},"labels":{"c":"d"}}}`)
	cluster.PatchPodStatus(t, ns, pod.Name, map[string]any{"message": "a heartbeat"})
	if _, err := cluster.Core.Pods(ns).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "stranger", Labels: map[string]string{"app": "foo"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox"}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.AwaitQuiet(t, harness.QuietFor)
	if now := l.Reconciles(); now != looks {
		t.Errorf("%d reconciles of a converged system", now-looks)
	}
	if now := cluster.Requests(t, ns, harness.ByControllerOf(t)); len(now) != writes {
		t.Errorf("%d writes of a converged system: %+v", len(now)-writes, now[writes:])
	}
}

// A deleted owner that is held by another finalizer gets no new pods (rule 6).
func TestDeletedOwnerGetsNoNewPods(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	d := cluster.NewDriver(t, ns, w)
	d.Create(2)
	cluster.PatchFoo(t, ns, `{"metadata":{"finalizers":["e2e.imoocpod.dev/other"]}}`)
	l := cluster.StartController(t, ns, nil, d.Check())
	w.AwaitConverged(t, "foo", 2)
	cluster.Imoocpod(t, ns, "delete", "foo", "--wait=false")
	w.Until(t, "foo is being deleted", func() bool { return w.ImoocPods["foo"] == nil || w.ImoocPods["foo"].DeletionTimestamp != nil })
	for _, pod := range w.Owned("foo") {
		if err := cluster.Core.Pods(ns).Delete(t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w.Until(t, "its pods are gone", func() bool { return len(w.Pods) == 0 })
	w.AwaitQuiet(t, 2*time.Second)
	if made := w.EverCreated(d.UID); made != 2 {
		t.Errorf("%d pods were made, want the 2 from before the deletion", made)
	}
	cluster.PatchFoo(t, ns, `{"metadata":{"finalizers":null}}`)
	w.Until(t, "foo is gone", func() bool { return w.ImoocPods["foo"] == nil })
	if strings.Contains(l.Output(), "trying again") {
		t.Errorf("the loop tried something again:\n%s", l.Output())
	}
}

// An object recreated under its old name ignores the pods of the first, and gets its own
// (I4).
func TestOwnerRecreatedUnderItsName(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	d := cluster.NewDriver(t, ns, w)
	d.Create(2, map[string]any{
		"metadata": map[string]any{"finalizers": []any{harness.Finalizer}}, // the old pods stay for a while
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "main", "image": "busybox"}}},
	})
	cluster.StartController(t, ns, nil)
	w.AwaitConverged(t, "foo", 2)
	first := d.UID
	cluster.Imoocpod(t, ns, "delete", "foo")
	d.Create(3)
	w.AwaitConverged(t, "foo", 3)
	if d.UID == first {
		t.Fatal("the object was not created again")
	}
	if made := w.EverCreated(d.UID); made != 3 {
		t.Errorf("%d pods were made for the new object, want 3", made)
	}
	for _, pod := range cluster.PodsOf(t, ns, first) {
		if _, err := cluster.Core.Pods(ns).Patch(t.Context(), pod.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
	}
	w.Until(t, "the old pods are gone", func() bool { return len(w.Pods) == 3 })
}

// forward is a clock that a test moves forward.
type forward struct {
	clock.PassiveClock
	by atomic.Int64
}

func (f *forward) Now() time.Time { return f.PassiveClock.Now().Add(time.Duration(f.by.Load())) }

// A pod on a lost node that is far past its grace period is replaced once under another
// name. The slot stays filled when the old pod disappears after all.
func TestLostPodIsBypassed(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	d := cluster.NewDriver(t, ns, w)
	d.Create(2, map[string]any{
		"metadata": map[string]any{"finalizers": []any{harness.Finalizer}},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "main", "image": "busybox"}}},
	})
	clk := &forward{PassiveClock: clock.RealClock{}}
	cluster.StartController(t, ns, clk, d.Check())
	w.AwaitConverged(t, "foo", 2)
	lost := w.Owned("foo")[0]
	patch := []byte(`{"metadata":{"annotations":{"e2e/lost":"yes"}}}`)
	if _, err := cluster.Core.Pods(ns).Patch(t.Context(), lost.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Core.Pods(ns).Delete(t.Context(), lost.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.Until(t, "the loop has seen that a pod is ending", func() bool { return w.ImoocPods["foo"] != nil && w.ImoocPods["foo"].Status.Replicas == 1 })
	if made := w.EverCreated(d.UID); made != 2 {
		t.Fatalf("%d pods were made while the slot was taken", made)
	}
	clk.by.Store(int64(10 * time.Minute))
	d.Scale(3) // an event that triggers a reconcile
	w.Until(t, "the lost pod is bypassed", func() bool { return w.Created[d.UID] == 4 })
	if _, err := cluster.Core.Pods(ns).Patch(t.Context(), lost.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w.AwaitConverged(t, "foo", 3)
	if made := w.EverCreated(d.UID); made != 4 {
		t.Errorf("%d pods were made, want 4: three and a bypass", made)
	}
}

// explosive is a clock that panics on first use.
type explosive struct {
	clock.PassiveClock
	once atomic.Bool
}

func (e *explosive) Now() time.Time {
	if e.once.CompareAndSwap(false, true) {
		panic("boom")
	}
	return e.PassiveClock.Now()
}

// A panic while planning one object is reported on that object and does not stop the
// controller.
func TestPanicIsReported(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	d := cluster.NewDriver(t, ns, w)
	d.Create(2)
	cluster.StartController(t, ns, &explosive{PassiveClock: clock.RealClock{}}, d.Check())
	w.AwaitConverged(t, "foo", 2)
	harness.Eventually(t, "an event reports the panic", func() bool {
		return strings.Contains(cluster.Events(t, ns, d.UID), "Warning InternalError: internal error: boom")
	})
}

// A controller that is stopped completes the write under way, and leaks no goroutines.
// The test runs before the parallel tests, which would add goroutines.
func TestStopFinishesTheWriteUnderWay(t *testing.T) {
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	d := cluster.NewDriver(t, ns, w)
	before := goleak.IgnoreCurrent()
	begun, finish := make(chan struct{}), make(chan struct{})
	l := cluster.StartController(t, ns, nil, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pods") {
			close(begun)
			<-finish
		}
		return next.RoundTrip(r)
	})
	d.Create(1)
	<-begun
	l.Stop()
	select {
	case <-l.Done:
		t.Error("the loop ended while a write was under way")
	case <-time.After(time.Second):
	}
	close(finish)
	<-l.Done
	if l.Err != nil {
		t.Errorf("the loop ended with: %v", l.Err)
	}
	w.Until(t, "the pod exists", func() bool { return w.Created[d.UID] == 1 })
	goleak.VerifyNone(t, before,
		goleak.IgnoreAnyFunction("net/http.(*http2clientConnReadLoop).run"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*clientConnReadLoop).run"),
		goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*ClientConn).readLoop"))
}
