package controller

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

func imoocPods() []kinds.Kind { return []kinds.Kind{kinds.ImoocPod()} }

// inWorkers runs a test in a world with the kind Worker, which its CRD declares.
func inWorkers(t *testing.T, d declaredKind, do func(w *world, kind kinds.Kind)) {
	t.Helper()
	crd, kind := d.worker(t)
	inWorld(t, []kinds.Kind{kind}, func(w *world) {
		w.put(kinds.CRDResource(), crd)
		do(w, kind)
	})
}

func podWrite(verb string) func(write) bool {
	return func(w write) bool { return w.verb == verb && w.resource == podsResource }
}

// Ordinary objects converge, and then nothing is written.
func TestPlainObjectsConverge(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		w.start()
		w.create(kinds.ImoocPod(), "default", "foo", spec(int64(3), nil))
		w.converges()
		w.staysQuiet()
		w.set(kinds.ImoocPod(), "default", "foo", int64(1), "spec", "replicas")
		w.converges()
		w.set(kinds.ImoocPod(), "default", "foo", template("other"), "spec", "template")
		w.converges()
		w.set(kinds.ImoocPod(), "default", "foo", int64(5), "spec", "replicas")
		w.converges()
		w.staysQuiet()
	})
}

// Objects of declared kinds converge, too, with the plan "pods" and with the plan "deployment".
func TestPlainObjectsOfDeclaredKindsConverge(t *testing.T) {
	for _, strategy := range []kinds.Strategy{kinds.StrategyPods, kinds.StrategyDeployment} {
		t.Run(string(strategy), func(t *testing.T) {
			inWorkers(t, declaredKind{plan: strategy, nameLabel: "name"}, func(w *world, kind kinds.Kind) {
				w.create(kind, "default", "foo", spec(int64(2), template("busybox")))
				w.start()
				w.create(kind, "other", "foo", spec(nil, template("busybox")))
				w.converges()
				w.staysQuiet()
				w.set(kind, "default", "foo", int64(0), "spec", "replicas")
				w.converges()
				w.staysQuiet()
				w.restartsQuietly()
			})
		})
	}
}

// A loop continues from any state that another one left.
func TestPodsOfAnotherLoopAreTakenUp(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		foo := w.create(kinds.ImoocPod(), "default", "foo", spec(int64(3), nil))
		w.pod(kinds.ImoocPod(), foo, 1)
		w.pod(kinds.ImoocPod(), foo, 2, func(pod *unstructured.Unstructured) { set(pod, "Failed", "status", "phase") })
		w.pod(kinds.ImoocPod(), foo, 7)
		w.start()
		w.converges()
		w.staysQuiet()
		w.restartsQuietly()
		if w.get(podsResource, "default", slots.PodName("foo", foo.GetUID(), "", 1)) == nil {
			t.Error("a pod that was as wanted was replaced")
		}
	})
}

// A terminating pod is not replaced until five minutes after its grace period, however long.
func TestPodWithALongGraceIsWaitedFor(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		long := template("busybox")
		set(&unstructured.Unstructured{Object: long}, int64(3600), "spec", "terminationGracePeriodSeconds")
		foo := w.create(kinds.ImoocPod(), "default", "foo", spec(int64(2), long))
		w.start()
		w.converges()
		first := slots.PodName("foo", foo.GetUID(), "", 0)
		w.edit(podsResource, "default", first, func(pod *unstructured.Unstructured) { pod.SetAnnotations(map[string]string{stuck: "yes"}) })
		w.drop(podsResource, "default", first)
		w.passes(64 * time.Minute)
		if made := len(w.done(podWrite("create"))); made != 2 {
			t.Errorf("%d pods were made while the grace of an hour and five minutes were not over, want 2", made)
		}
		w.passes(2 * time.Minute)
		if made := len(w.done(podWrite("create"))); made != 3 {
			t.Errorf("%d pods were made when they were over, want 3", made)
		}
		w.letGo()
		w.converges()
		w.staysQuiet()
	})
}
