package controller

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

func imoocPods() []kinds.Kind { return []kinds.Kind{kinds.ImoocPod()} }

// inWorkers runs a test in a world with the kind Worker, which a CRD declares.
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

// The controller replaces a terminating pod only five minutes after the pod's grace period has ended.
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
