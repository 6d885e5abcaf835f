package controller

import (
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/replica"
)

// A pod with the name of one to be created is the object's only if its controller
// reference has the object's UID. Any other is left alone, and the status tells of
// it.
func TestPodOfSomebodyElseHasTheName(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*metav1.OwnerReference)
		says   string
	}{
		"an object that had the name before": {func(r *metav1.OwnerReference) { r.UID = "before" }, "controlled by ImoocPod foo"},
		"another object": {func(r *metav1.OwnerReference) {
			*r = metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: new(true)}
		}, "controlled by ReplicaSet web"},
		"nobody": {func(r *metav1.OwnerReference) { r.Controller = nil }, "controlled by nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, imoocPods(), func(w *world) {
				foo := w.create(replica.ImoocPod(), "default", "foo", spec(int64(2), nil))
				theirs := w.pod(replica.ImoocPod(), foo, 0, func(pod *unstructured.Unstructured) {
					ref := reference(replica.ImoocPod(), foo)
					test.change(&ref)
					pod.SetOwnerReferences([]metav1.OwnerReference{ref})
				})
				w.start()
				w.untilFailure(replica.ImoocPod(), "foo")
				c := w.condition(replica.ImoocPod(), "foo", apis.ConditionReplicaFailure)
				if message, _ := c["message"].(string); c["reason"] != "NameTaken" || !strings.Contains(message, test.says) {
					t.Errorf("the condition says %v: %v, want NameTaken: … %s", c["reason"], c["message"], test.says)
				}
				w.passes(time.Minute)
				if now := w.get(podsResource, "default", theirs.GetName()); !reflect.DeepEqual(now, theirs) {
					t.Errorf("the pod was\n%v\nand is\n%v", theirs, now)
				}
				if w.get(podsResource, "default", plan.PodName("foo", foo.GetUID(), "", 1)) == nil {
					t.Error("the other slot is not filled")
				}
			})
		})
	}
}
