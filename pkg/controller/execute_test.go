package controller

import (
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

// If a pod that the object does not control has the name of a wanted pod, the controller does not
// touch it, and reports it in the status. Only a controller reference with the object's UID counts, whether
// or not the pod has the labels of the object.
func TestPodNameTaken(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*metav1.OwnerReference)
		message string
	}{
		"owned by an earlier object of the same name": {func(r *metav1.OwnerReference) { r.UID = "before" }, "owned by ImoocPod foo"},
		"owned by another object": {func(r *metav1.OwnerReference) {
			*r = metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: new(true)}
		}, "owned by ReplicaSet web"},
		"without a controller": {func(r *metav1.OwnerReference) { r.Controller = nil }, "not owned by"},
	} {
		for _, labeled := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, labeled %t", name, labeled), func(t *testing.T) {
				inWorld(t, imoocPods(), func(w *world) {
					foo := w.create(kinds.ImoocPod(), "default", "foo", spec(int64(2), nil))
					foreign := w.pod(kinds.ImoocPod(), foo, 0, func(pod *unstructured.Unstructured) {
						ref := reference(kinds.ImoocPod(), foo)
						test.change(&ref)
						pod.SetOwnerReferences([]metav1.OwnerReference{ref})
						if !labeled {
							pod.SetLabels(nil)
						}
					})
					w.start()
					if c := w.untilFailure(kinds.ImoocPod(), "foo"); c.Reason != "NameTaken" || !strings.Contains(c.Message, test.message) {
						t.Errorf("ReplicaFailure condition = %s: %s, want NameTaken: … %s", c.Reason, c.Message, test.message)
					}
					w.passes(time.Minute)
					if now := w.Get("pods", "default", foreign.GetName()); !reflect.DeepEqual(now, foreign) {
						t.Errorf("the loop changed the foreign pod from\n%v\nto\n%v", foreign, now)
					}
					if w.Get("pods", "default", slots.PodName("foo", foo.GetUID(), "", 1)) == nil {
						t.Error("slot 1 has no pod, although only the pod name of slot 0 is taken")
					}
					w.Remove("pods", "default", foreign.GetName())
					w.converges()
				})
			})
		}
	}
}

// The execution of a plan stops when someone scales the object. Only writes in flight, and the few
// writes that start before the cache shows the change, are still sent.
func TestScalingStopsTheExecutionOfAPlan(t *testing.T) {
	const many, few, after = 120, 5, 10
	for verb, counts := range map[string]struct{ at, from, to int64 }{
		"create": {at: 0, from: many, to: few},
		"delete": {at: many, from: few, to: many},
	} {
		t.Run(verb, func(t *testing.T) {
			inWorld(t, imoocPods(), func(w *world) {
				w.create(kinds.ImoocPod(), "default", "foo", spec(counts.at, nil))
				w.start()
				w.converges()
				var writes atomic.Int64
				w.Server.Fail(apiserver.On(verb, "pods"), apiserver.Fault{Before: func() {
					if writes.Add(1) == after {
						w.set(kinds.ImoocPod(), "default", "foo", counts.to, "spec", "replicas")
					}
				}})
				w.set(kinds.ImoocPod(), "default", "foo", counts.from, "spec", "replicas")
				w.passes(time.Second)
				if n := writes.Load(); n < after || n > many/2 {
					t.Errorf("%d pod writes, want %d to %d: the object was scaled back after %d", n, after, many/2, after)
				}
			})
		})
	}
}
