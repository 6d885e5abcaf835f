package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// quietFor is how long a converged system is watched.
const quietFor = 5 * time.Second

// patchFoo merges into the ImoocPod foo.
func patchFoo(t *testing.T, namespace, patch string) {
	t.Helper()
	_, err := cluster.dynamic.Resource(kinds.ImoocPod().Resource).Namespace(namespace).
		Patch(t.Context(), "foo", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// I3: once converged, no reconcile and no write, for as long as it is watched;
// also not for events that change nothing a plan reads.
func TestConvergedMeansQuiet(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	w := watchPods(t, ns)
	d := newDriver(t, ns, w)
	d.create(3)
	l := startInner(t, ns, nil, d.check())
	w.settles(t, "foo", 3)
	d.scale(1)
	w.settles(t, "foo", 1)
	pod := w.owned("foo")[0]

	// What the server does after the fact (garbage, endpoints) is over when
	// nothing changes any more.
	w.quiet(t, time.Second)
	looks, writes := l.Reconciles(), len(audited(t, ns, byThis(t)))
	patchFoo(t, ns, `{"metadata":{"annotations":{"a":"b"},"labels":{"c":"d"}}}`)
	patchPodStatus(t, ns, pod.Name, map[string]any{"message": "a heartbeat"})
	if _, err := cluster.core.Pods(ns).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "stranger", Labels: map[string]string{"app": "foo"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox"}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.quiet(t, quietFor)
	if now := l.Reconciles(); now != looks {
		t.Errorf("%d reconciles of a converged system", now-looks)
	}
	if now := audited(t, ns, byThis(t)); len(now) != writes {
		t.Errorf("%d writes of a converged system: %+v", len(now)-writes, now[writes:])
	}
}

// byThis matches the writes of the inner loops of a test.
func byThis(t *testing.T) func(request) bool {
	return func(r request) bool { return r.UserAgent == "kubectl-imoocpod/"+t.Name() && r.writes() }
}

// An owner that somebody else's finalizer holds gets no new pods (rule 6).
func TestDeletedOwnerGetsNoNewPods(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	w := watchPods(t, ns)
	d := newDriver(t, ns, w)
	d.create(2)
	patchFoo(t, ns, `{"metadata":{"finalizers":["e2e.imoocpod.dev/other"]}}`)
	l := startInner(t, ns, nil, d.check())
	w.settles(t, "foo", 2)
	imoocpod(t, ns, "delete", "foo", "--wait=false")
	w.until(t, "foo is being deleted", func() bool { return w.imps["foo"] == nil || w.imps["foo"].DeletionTimestamp != nil })
	for _, pod := range w.owned("foo") {
		if err := cluster.core.Pods(ns).Delete(t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w.until(t, "its pods are gone", func() bool { return len(w.pods) == 0 })
	w.quiet(t, 2*time.Second)
	if made := w.everMade(d.uid); made != 2 {
		t.Errorf("%d pods were made, want the 2 from before the deletion", made)
	}
	patchFoo(t, ns, `{"metadata":{"finalizers":null}}`)
	w.until(t, "foo is gone", func() bool { return w.imps["foo"] == nil })
	if strings.Contains(l.output(), "trying again") {
		t.Errorf("the loop tried something again:\n%s", l.output())
	}
}

// An object that comes back under its old name has nothing to do with the pods
// of the first, and the loop gives it its own (I4).
func TestOwnerRecreatedUnderItsName(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	w := watchPods(t, ns)
	d := newDriver(t, ns, w)
	d.create(2, map[string]any{
		"metadata": map[string]any{"finalizers": []any{holder}}, // the old pods stay for a while
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "main", "image": "busybox"}}},
	})
	startInner(t, ns, nil)
	w.settles(t, "foo", 2)
	first := d.uid
	imoocpod(t, ns, "delete", "foo")
	d.create(3)
	w.settles(t, "foo", 3)
	if d.uid == first {
		t.Fatal("the object was not created anew")
	}
	if made := w.everMade(d.uid); made != 3 {
		t.Errorf("%d pods were made for the new object, want 3", made)
	}
	for _, pod := range podsOf(t, ns, first) {
		if _, err := cluster.core.Pods(ns).Patch(t.Context(), pod.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
	}
	w.until(t, "the old pods are gone", func() bool { return len(w.pods) == 3 })
}

// forward is a clock that a test turns forward.
type forward struct {
	clock.PassiveClock
	by atomic.Int64
}

func (f *forward) Now() time.Time { return f.PassiveClock.Now().Add(time.Duration(f.by.Load())) }

// A pod far past its grace period, on a node that is lost, is bypassed under
// another name, once, and its slot stays filled when it is gone after all.
func TestLostPodIsBypassed(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	w := watchPods(t, ns)
	d := newDriver(t, ns, w)
	d.create(2, map[string]any{
		"metadata": map[string]any{"finalizers": []any{holder}},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "main", "image": "busybox"}}},
	})
	clk := &forward{PassiveClock: clock.RealClock{}}
	startInner(t, ns, clk, d.check())
	w.settles(t, "foo", 2)
	lost := w.owned("foo")[0]
	patch := []byte(`{"metadata":{"annotations":{"e2e/lost":"yes"}}}`)
	if _, err := cluster.core.Pods(ns).Patch(t.Context(), lost.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := cluster.core.Pods(ns).Delete(t.Context(), lost.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.until(t, "the loop has seen that a pod is ending", func() bool { return w.imps["foo"] != nil && w.imps["foo"].Status.Replicas == 1 })
	if made := w.everMade(d.uid); made != 2 {
		t.Fatalf("%d pods were made while the slot was taken", made)
	}
	clk.by.Store(int64(10 * time.Minute))
	d.scale(3) // an event, to look again
	w.until(t, "the lost pod is bypassed", func() bool { return w.made[d.uid] == 4 })
	if _, err := cluster.core.Pods(ns).Patch(t.Context(), lost.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w.settles(t, "foo", 3)
	if made := w.everMade(d.uid); made != 4 {
		t.Errorf("%d pods were made, want 4: three and a bypass", made)
	}
}

// explosive is a clock that panics the first time it is asked.
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

// A panic in one object's plan is reported on that object and does not stop the loop.
func TestPanicIsReported(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	w := watchPods(t, ns)
	d := newDriver(t, ns, w)
	d.create(2)
	startInner(t, ns, &explosive{PassiveClock: clock.RealClock{}}, d.check())
	w.settles(t, "foo", 2)
	eventually(t, "an event tells of the panic", func() bool {
		return strings.Contains(events(t, ns, d.uid), "Warning InternalError: internal error: boom")
	})
}

// A loop that is asked to stop finishes the write under way, and leaves no
// goroutine behind. Other tests would add to the goroutines, so this one runs
// before those that run in parallel.
func TestStopFinishesTheWriteUnderWay(t *testing.T) {
	ns := newNamespace(t)
	w := watchPods(t, ns)
	d := newDriver(t, ns, w)
	before := goleak.IgnoreCurrent()
	begun, finish := make(chan struct{}), make(chan struct{})
	l := startInner(t, ns, nil, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pods") {
			close(begun)
			<-finish
		}
		return next.RoundTrip(r)
	})
	d.create(1)
	<-begun
	l.stop()
	select {
	case <-l.done:
		t.Error("the loop ended while a write was under way")
	case <-time.After(time.Second):
	}
	close(finish)
	<-l.done
	if l.err != nil {
		t.Errorf("the loop ended with: %v", l.err)
	}
	w.until(t, "the pod is there", func() bool { return w.made[d.uid] == 1 })
	goleak.VerifyNone(t, before,
		goleak.IgnoreAnyFunction("net/http.(*http2clientConnReadLoop).run"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*clientConnReadLoop).run"),
		goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*ClientConn).readLoop"))
}

// The API server and etcd go away and come back: the loop says so and catches
// up. Everybody's server stops, so this runs before the tests in parallel.
func TestServerGoesAwayAndComesBack(t *testing.T) {
	// Both are made while all is well: it takes the controller manager its time to
	// make one ready after the server was away.
	namespace := map[string]string{"kube-apiserver": newNamespace(t), "etcd": newNamespace(t)}
	for _, component := range []string{"kube-apiserver", "etcd"} {
		t.Run(component, func(t *testing.T) {
			ns := namespace[component]
			l := startLoop(t, ns)
			imoocpod(t, ns, "create", "foo", "--replicas", "5")
			converged(t, ns, "foo", 5)
			foo := getImoocPod(t, ns, "foo")
			tell(t, "kill "+component)
			if component == "kube-apiserver" {
				l.says("trying again")
				// It is away for so long that somebody else could have the lease.
				l.says("the lease could not be renewed in time: stopped, and waiting for it")
			}
			tell(t, "start "+component)
			eventually(t, "the server takes writes again", func() bool {
				return kubectl(t, ns, "imoocpod", "scale", "foo", "--replicas", "8").code == 0
			})
			converged(t, ns, "foo", 8)
			if made := len(podsOf(t, ns, foo.UID)); made != 8 {
				t.Errorf("%d pods, want 8", made)
			}
			if code := l.stop(); code != 0 {
				t.Errorf("the loop ended with exit code %d", code)
			}
			said := map[string]int{}
			for line := range strings.Lines(l.output()) {
				if what, _, found := strings.Cut(line, ":"); found && strings.HasPrefix(line, "cannot ") {
					said[what]++
				}
			}
			for what, times := range said {
				if component == "kube-apiserver" && times > 1 {
					t.Errorf("it said %d times %q:\n%s", times, what, l.output())
				}
			}
		})
	}
}

// tell gives the control plane a command, such as "stop etcd".
func tell(t *testing.T, command string) {
	t.Helper()
	if _, err := fmt.Fprintln(cluster.stdin, command); err != nil {
		t.Fatal(err)
	}
	line, err := cluster.stdout.ReadString('\n')
	if err != nil || line != "ok\n" {
		t.Fatalf("the control plane answered %q to %q: %v", line, command, err)
	}
}
