package controller

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

func (w *world) event(reason, message string) bool {
	return slices.ContainsFunc(w.List("events", ""), func(event *unstructured.Unstructured) bool {
		text, _, _ := unstructured.NestedString(event.Object, "message")
		return event.Object["reason"] == reason && strings.Contains(text, message)
	})
}

func createsPod(r apiserver.Request) bool { return apiserver.On("create", "pods")(r) }

// createsPodAfter matches the creates of pods after the first n.
func createsPodAfter(n int) apiserver.Match {
	return func(r apiserver.Request) bool {
		if createsPod(r) {
			n--
		}
		return createsPod(r) && n < 0
	}
}

// If the object changes between the plan and the write of the status, the write fails with a conflict,
// and the loop plans again, even if the change does not trigger a reconcile. The change is kept.
func TestStatusIsWrittenAfterAConflict(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		foo := kinds.ImoocPod()
		w.create(foo, "default", "foo", spec(int64(1), nil))
		w.start()
		w.converges()
		w.passes(time.Minute)
		writes := apiserver.On("patch", foo.Resource.Resource+"/status")
		before := len(w.Requests(writes))
		w.Server.Fail(writes, apiserver.Fault{Times: 1, Before: func() {
			w.Update(foo.CRD(), "default", "foo", func(obj *unstructured.Unstructured) { set(obj, "theirs", "status", "phase") })
		}})
		w.change(foo, "default", "foo", func(obj *unstructured.Unstructured) { delete(obj.Object, "status") })
		w.passes(time.Minute)
		if mismatch := w.mismatch(foo, "default", "foo"); mismatch != "" {
			t.Error(mismatch)
		}
		if sent := len(w.Requests(writes)) - before; sent != 2 {
			t.Errorf("the status was sent %d times, want 2", sent)
		}
		if phase, _, _ := unstructured.NestedString(w.Get(foo.CRD(), "default", "foo").Object, "status", "phase"); phase != "theirs" {
			t.Errorf("foreign field status.phase = %q, want theirs", phase)
		}
	})
}

// The status shows the progress of a plan whose last create takes a long time.
func TestStatusShowsProgress(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		w.create(kinds.ImoocPod(), "default", "foo", spec(int64(3), nil))
		w.Server.Fail(createsPodAfter(2), apiserver.Fault{Times: 1, Delay: 10 * time.Second})
		w.start()
		w.passes(8 * time.Second)
		if n, _, _ := unstructured.NestedInt64(w.Get(kinds.ImoocPod().CRD(), "default", "foo").Object, "status", "replicas"); n != 2 {
			t.Errorf("the status reports %d pods, want 2", n)
		}
		w.converges()
	})
}

// If the deletion of one pod is refused, the other pods are still deleted, and an event reports the refusal.
func TestRefusedDeletionDoesNotStopTheOthers(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		foo := w.create(kinds.ImoocPod(), "default", "foo", spec(int64(3), nil))
		w.start()
		w.converges()
		third := slots.PodName("foo", foo.GetUID(), "", 2)
		w.deny(denied("the policy keeps this pod"), func(r apiserver.Request) bool {
			return apiserver.On("delete", "pods")(r) && r.Name == third
		})
		w.set(kinds.ImoocPod(), "default", "foo", int64(0), "spec", "replicas")
		w.passes(time.Minute)
		if left := len(children(w.Actor, foo)); left != 1 {
			t.Errorf("%d pods are left, want 1", left)
		}
		if !w.event("ReconcileFailed", "the policy keeps this pod") {
			t.Error("no event reports the refusal")
		}
	})
}

// If every create fails with a server error, for example from a webhook, the status reports it.
func TestServerErrorIsReported(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		allow := w.deny(apierrors.NewInternalError(errors.New("failed calling webhook pods.example.com")), createsPod)
		w.create(kinds.ImoocPod(), "default", "foo", spec(int64(2), nil))
		w.start()
		if c := w.untilFailure(kinds.ImoocPod(), "foo"); c.Reason != "CreateFailed" || !strings.Contains(c.Message, "pods.example.com") {
			t.Errorf("ReplicaFailure condition = %s: %s, want CreateFailed: … pods.example.com", c.Reason, c.Message)
		}
		w.Forget()
		w.passes(10 * time.Minute)
		if tried := len(w.Requests(createsPod)); tried < 50 || tried > 65 {
			t.Errorf("%d creates in 10 minutes, want one about every 10 seconds", tried)
		}
		if lines := w.logged("creating 2"); len(lines) > troubleAfter {
			t.Errorf("the log has %d lines about the same creates, want none for retries", len(lines))
		}
		allow()
		w.converges()
		w.passes(time.Minute)
		if c := w.condition(kinds.ImoocPod(), "foo", apis.ConditionReplicaFailure); c.Status != metav1.ConditionFalse {
			t.Errorf("the failure is still reported: %s", c.Message)
		}
	})
}

// A pod in an unwanted slot stays if the server would refuse its replacement.
func TestRefusedMove(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		kind := kinds.ImoocPod()
		foo := w.create(kind, "default", "foo", spec(int64(3), nil))
		w.start()
		w.converges()
		allow := w.deny(denied("violates PodSecurity"), createsPod)
		w.Delete("pods", "default", slots.PodName("foo", foo.GetUID(), "", 0))
		w.passes(time.Minute)
		w.set(kind, "default", "foo", int64(2), "spec", "replicas")
		w.passes(time.Minute)
		if pods := w.mine(w.Actor, foo); len(pods) != 2 {
			t.Errorf("%d pods, want the 2 that cannot be replaced", len(pods))
		}
		allow()
		w.converges()
	})
}

type panickingClock struct {
	clock.PassiveClock
	once atomic.Bool
}

func (e *panickingClock) Now() time.Time {
	if e.once.CompareAndSwap(false, true) {
		panic("boom")
	}
	return e.PassiveClock.Now()
}

// A panic while planning one object is reported on that object and does not stop the loop.
func TestPanicIsReported(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		w.create(kinds.ImoocPod(), "default", "foo", spec(int64(2), nil))
		w.start(func(o *Options) { o.Clock = &panickingClock{PassiveClock: clock.RealClock{}} })
		w.converges()
		w.passes(time.Minute)
		if !w.event("InternalError", "internal error: boom") {
			t.Error("no event reports the panic")
		}
	})
}

// A stopped loop completes the write in flight, and States still returns its objects. The bubble
// checks that no goroutines leak.
func TestStopFinishesTheWriteUnderWay(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		foo := w.create(kinds.ImoocPod(), "default", "foo", spec(int64(1), nil))
		begun := make(chan struct{})
		w.Server.Fail(createsPod, apiserver.Fault{Before: func() { close(begun) }, Delay: 5 * time.Second})
		w.start()
		<-begun
		stopped := time.Now()
		w.end()
		took := time.Since(stopped)
		w.passes(time.Second) // until the event recorder has finished, too
		if took < 5*time.Second || len(children(w.Actor, foo)) != 1 {
			t.Errorf("the loop ended after %s with %d pods, want 1 pod after at least 5s", took, len(children(w.Actor, foo)))
		}
		if all, _ := w.c.States(); len(all) != 1 || all[0].Name != "foo" {
			t.Errorf("States() after the end of the loop = %+v, want only foo", all)
		}
	})
}

// If a declaration is removed while pods are being created, the loop soon stops creating pods.
func TestDeclarationRemovedDuringCreate(t *testing.T) {
	inWorkers(t, declaredKind{plan: kinds.StrategyPods}, func(w *world, worker kinds.Kind) {
		const wanted = 300
		foo := w.create(worker, "default", "foo", spec(int64(wanted), template("web")))
		w.Server.Fail(createsPodAfter(20), apiserver.Fault{Times: 1, Before: func() {
			w.Update("customresourcedefinitions", "", worker.CRD(), func(crd *unstructured.Unstructured) {
				unstructured.RemoveNestedField(crd.Object, "metadata", "annotations")
			})
		}})
		w.start()
		w.passes(time.Minute)
		if n := len(children(w.Actor, foo)); n < 20 || n > wanted/2 {
			t.Errorf("%d pods of %d were created, want 20 to half: the declaration was removed after 20", n, wanted)
		}
	})
}

// If a declaration is removed while the objects of its kind cannot be read, the loop no longer waits for
// them, so it logs the next outage, too.
func TestDeclarationRemovedDuringOutage(t *testing.T) {
	inWorkers(t, declaredKind{plan: kinds.StrategyPods}, func(w *world, worker kinds.Kind) {
		fail := func(resource string) (end func()) {
			defer w.EndWatches(resource, nil)
			return w.Server.Fail(apiserver.On("list|watch", resource), apiserver.Fault{Err: apierrors.NewServiceUnavailable("overloaded")})
		}
		w.start()
		w.passes(time.Minute)
		fail(worker.Resource.Resource)
		w.passes(time.Minute)
		w.Update("customresourcedefinitions", "", worker.CRD(), func(crd *unstructured.Unstructured) { crd.SetAnnotations(nil) })
		w.passes(time.Minute)
		end := fail("pods")
		w.passes(time.Minute)
		end()
		w.passes(time.Minute)
		if lost, again := w.logged("connection to the API server lost"), w.logged("connected again"); len(lost) != 2 || len(again) != 1 {
			t.Errorf("log: %q and %q, want two lost connections and one reconnection", lost, again)
		}
	})
}

// The loop reports a foreign Deployment with the wanted name and does not touch it, even if the foreign
// Deployment is created between the loop's read and write. After its deletion, the loop creates its own
// Deployment.
func TestForeignDeployment(t *testing.T) {
	app := kinds.AppService()
	inWorld(t, []kinds.Kind{app}, func(w *world) {
		foo := w.create(app, "default", "foo", map[string]any{"spec": map[string]any{"deploymentName": "web", "replicas": int64(2)}})
		w.Server.Fail(apiserver.On("get", app.Resource.Resource), apiserver.Fault{Times: 1, Before: func() {
			w.Stall("deployments")
			w.deployment(app, foo, "web")
			w.Update("deployments", "default", "web", func(d *unstructured.Unstructured) { d.SetOwnerReferences(nil) })
		}})
		w.start()
		if c := w.untilFailure(app, "foo"); c.Reason != "NameTaken" {
			t.Errorf("ReplicaFailure condition = %s: %s, want NameTaken", c.Reason, c.Message)
		}
		w.Stall()
		foreign := w.Get("deployments", "default", "web")
		w.passes(time.Minute)
		now := w.Get("deployments", "default", "web")
		if !reflect.DeepEqual(now.Object["spec"], foreign.Object["spec"]) || len(now.GetOwnerReferences()) > 0 {
			t.Errorf("the loop changed the foreign Deployment from\n%v\nto\n%v", foreign, now)
		}
		w.Delete("deployments", "default", "web")
		w.converges()
	})
}
