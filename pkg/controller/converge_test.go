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
		w.Create(crd)
		do(w, kind)
	})
}

// The controller replaces a terminating pod only five minutes after the pod's grace period has ended.
func TestLongGracePeriodDelaysReplacement(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		long := template("busybox")
		set(&unstructured.Unstructured{Object: long}, int64(3600), "spec", "terminationGracePeriodSeconds")
		foo := w.create(kinds.ImoocPod(), "default", "foo", spec(int64(2), long))
		w.start()
		w.converges()
		first := slots.PodName("foo", foo.GetUID(), "", 0)
		w.Update("pods", "default", first, stick)
		w.Delete("pods", "default", first)
		w.passes(64 * time.Minute)
		if made := len(w.Requests(createsPod)); made != 2 {
			t.Errorf("%d pods were created 64 minutes after the deletion, within the grace period and 5 minutes, want 2", made)
		}
		w.passes(2 * time.Minute)
		if made := len(w.Requests(createsPod)); made != 3 {
			t.Errorf("%d pods were created after the grace period and 5 minutes, want 3", made)
		}
		w.unstick()
		w.converges()
		w.staysQuiet()
	})
}
