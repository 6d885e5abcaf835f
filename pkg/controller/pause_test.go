package controller

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

// onPods matches writes of pods, Deployments, and revisions.
func onPods(r apiserver.Request) bool {
	return apiserver.Writes(r) && (r.Resource == "pods" || r.Resource == "deployments" || r.Resource == "controllerrevisions")
}

// reasons returns the reason of each event, as often as the event occurred.
func (w *world) reasons() []string {
	var list []string
	for _, event := range w.List("events", "") {
		reason, _, _ := unstructured.NestedString(event.Object, "reason")
		count, _, _ := unstructured.NestedInt64(event.Object, "count")
		list = append(list, slices.Repeat([]string{reason}, int(count))...)
	}
	return list
}

func occurrences(list []string, word string) int {
	n := 0
	for _, s := range list {
		if s == word {
			n++
		}
	}
	return n
}

// While an object is paused, the loop writes none of its children, but keeps its status accurate. Within a
// second after the pause ends, the loop continues, even if it was started during the pause.
func TestPausedObjectIsLeftAlone(t *testing.T) {
	for name, restart := range map[string]bool{"without a restart": false, "with a restart during the pause": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, imoocPods(), func(w *world) {
				kind := kinds.ImoocPod()
				foo := w.create(kind, "default", "foo", spec(int64(3), nil))
				w.start()
				w.converges()
				w.pause(kind, "default", "foo", time.Hour)
				end := time.Now().Add(time.Hour).Truncate(time.Second)
				w.passes(2 * time.Second)
				before := len(w.Requests(onPods))
				if c := w.condition(kind, "foo", apis.ConditionPaused); c.Status != metav1.ConditionTrue || !strings.HasSuffix(c.Message, " by alice") {
					t.Errorf("Paused condition = %v, want True, and a message that ends with \"by alice\"", c)
				}
				pods := children(w.Actor, foo)
				w.Delete("pods", "default", pods[0].GetName())
				w.Update("pods", "default", pods[1].GetName(), func(pod *unstructured.Unstructured) { pod.SetLabels(nil) })
				w.Update("pods", "default", pods[2].GetName(), func(pod *unstructured.Unstructured) { set(pod, "Failed", "status", "phase") })
				w.passes(time.Minute)
				w.set(kind, "default", "foo", int64(5), "spec", "replicas")
				w.passes(time.Minute)
				w.set(kind, "default", "foo", template("other"), "spec", "template")
				w.passes(10 * time.Minute)
				if restart {
					w.end()
					w.passes(time.Minute)
					w.start()
				}
				w.passes(time.Until(end) - time.Second)
				if now := w.Requests(onPods); len(now) > before {
					t.Fatalf("%d writes while the object was paused, such as %s", len(now)-before, now[before])
				}
				status := strategy.DecodeStatus(kind.Mapping.Status, w.Get(kind.CRD(), "default", "foo"))
				if status.Current != 1 || status.ObservedGeneration != w.Get(kind.CRD(), "default", "foo").GetGeneration() {
					t.Errorf("status during the pause = %+v, want 1 pod and the current generation", status)
				}
				w.passes(2 * time.Second)
				writes := w.Requests(onPods)
				if len(writes) == before {
					t.Fatal("no write within a second after the end of the pause")
				}
				if at := writes[before].At; at.Before(end) || at.After(end.Add(time.Second)) {
					t.Errorf("the first write came at %s, want it within a second after the end of the pause at %s", at, end)
				}
				w.converges()
				if c := w.condition(kind, "foo", apis.ConditionPaused); c.Status != metav1.ConditionFalse || c.Reason != "PauseEnded" {
					t.Errorf("Paused condition after the pause = %v, want False with the reason PauseEnded", c)
				}
				w.staysQuiet()
				if reasons := w.reasons(); occurrences(reasons, "Paused") != 1 || occurrences(reasons, "Resumed") != 1 {
					t.Errorf("event reasons = %v, want one Paused and one Resumed", reasons)
				}
				if lines := w.logged("resumed"); len(lines) != 1 {
					t.Errorf("log lines with \"resumed\": %q, want one", lines)
				}
			})
		})
	}
}

// sleptClock is the clock of a suspended machine: the wall clock advances, but timers do not.
type sleptClock struct{ slept *atomic.Int64 }

func (c sleptClock) Now() time.Time                  { return time.Now().Add(time.Duration(c.slept.Load())) }
func (c sleptClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// If a pause ends while the machine is suspended, the loop continues within a minute after the
// machine wakes up.
func TestPauseEndsAfterTheMachineSlept(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		kind, clock := kinds.ImoocPod(), sleptClock{new(atomic.Int64)}
		w.create(kind, "default", "foo", map[string]any{"spec": map[string]any{"replicas": int64(1)}, "metadata": map[string]any{"annotations": map[string]any{
			apis.AnnotationPausedUntil: time.Now().Add(time.Hour).Format(time.RFC3339),
		}}})
		w.start(func(o *Options) { o.Clock = clock })
		w.passes(10 * time.Minute)
		if writes := w.Requests(onPods); len(writes) > 0 {
			t.Fatalf("write while the object was paused: %s", writes[0])
		}
		clock.slept.Store(int64(8 * time.Hour))
		w.passes(time.Minute + time.Second)
		if writes := w.Requests(onPods); len(writes) == 0 {
			t.Error("no write within a minute after the machine woke up")
		}
		w.converges()
	})
}

// monotonicClock returns times with a monotonic reading, unlike the clock of a bubble. It starts at a time from
// outside the bubble.
type monotonicClock struct{ start, bubble time.Time }

func (c monotonicClock) Now() time.Time                  { return c.start.Add(time.Since(c.bubble)) }
func (c monotonicClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Plans use only the wall clock. The monotonic clock stops while the machine is suspended, and would
// prolong the delay after a failure.
func TestPlansUseTheWallClock(t *testing.T) {
	start := time.Now()
	inWorld(t, imoocPods(), func(w *world) {
		kind := kinds.ImoocPod()
		foo := w.create(kind, "default", "foo", spec(int64(1), nil))
		w.start(func(o *Options) { o.Clock = monotonicClock{start, time.Now()} })
		w.converges()
		w.Update("pods", "default", children(w.Actor, foo)[0].GetName(), func(pod *unstructured.Unstructured) { set(pod, "Failed", "status", "phase") })
		w.passes(500 * time.Millisecond)
		key := memory.Key{Kind: kind.CRD(), Namespace: "default", Name: "foo"}
		if at := w.c.memory.Get(key, foo.GetUID()).Plan.Failures[0].At; at.IsZero() || strings.Contains(at.String(), "m=") {
			t.Errorf("recorded time of the failure = %s, want a time without a monotonic reading", at)
		}
	})
}

// If a pause is replaced, the new end applies. If the pause is removed, the loop continues
// immediately. Each change is reported once.
func TestPauseIsReplacedAndLifted(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		kind := kinds.ImoocPod()
		w.create(kind, "default", "foo", spec(int64(1), nil))
		w.start()
		w.converges()
		w.pause(kind, "default", "foo", time.Minute)
		w.passes(10 * time.Second)
		w.pause(kind, "default", "foo", time.Hour)
		w.set(kind, "default", "foo", int64(2), "spec", "replicas")
		w.passes(30 * time.Minute)
		if made := len(w.Requests(createsPod)); made != 1 {
			t.Errorf("%d pods were created before the object was resumed, want 1", made)
		}
		w.pause(kind, "default", "foo", 0)
		w.passes(500 * time.Millisecond)
		if made := len(w.Requests(createsPod)); made != 2 {
			t.Errorf("%d pods were created half a second after the object was resumed, want 2", made)
		}
		w.converges()
		w.staysQuiet()
		reasons := w.reasons()
		if occurrences(reasons, "Paused") != 2 || occurrences(reasons, "Resumed") != 1 {
			t.Errorf("event reasons = %v, want two Paused and one Resumed", reasons)
		}
	})
}

// A pause with an invalid end does not pause the object. The status and a single event report the error.
func TestPauseWithInvalidEnd(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		kind := kinds.ImoocPod()
		w.create(kind, "default", "foo", map[string]any{"spec": map[string]any{"replicas": int64(1)}, "metadata": map[string]any{"annotations": map[string]any{
			apis.AnnotationPausedUntil: "14:05",
		}}})
		w.start()
		w.converges()
		w.set(kind, "default", "foo", int64(2), "spec", "replicas")
		w.converges()
		if c := w.condition(kind, "foo", apis.ConditionPaused); c.Status != metav1.ConditionFalse || c.Reason != "InvalidPause" || !strings.Contains(c.Message, `"14:05"`) {
			t.Errorf("Paused condition = %v, want False with the reason InvalidPause and a message with \"14:05\"", c)
		}
		synctest.Wait()
		w.staysQuiet()
		w.restartsQuietly()
		if n := occurrences(w.reasons(), "InvalidPause"); n != 1 {
			t.Errorf("%d InvalidPause events, want 1", n)
		}
	})
}
