package status

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pods belong to an object through whatever stands between, and to no other.
func TestOwns(t *testing.T) {
	t.Parallel()
	between := map[types.UID]types.UID{
		"replicaset": "deployment", "deployment": "it", "alien-set": "alien",
		"ring-a": "ring-b", "ring-b": "ring-a", "self": "self", "topless": "",
	}
	// Chains of ever more objects in between, c1 being the next to the object.
	between["c1"] = "it"
	for i := byte('2'); i <= '9'; i++ {
		between[types.UID("c"+string(i))] = types.UID("c" + string(i-1))
	}
	for controller, want := range map[types.UID]bool{
		"it": true, "deployment": true, "replicaset": true, "c1": true, "c8": true,
		"c9":    false, // deeper than anything is
		"alien": false, "alien-set": false, "unknown": false, "ring-a": false, "self": false, "topless": false,
	} {
		pod := ownedPod("p", controller)
		if got := (Object{UID: "it", Between: between}).Owns(&pod); got != want {
			t.Errorf("a pod of %s is its own: %t, want %t", controller, got, want)
		}
	}
	pod := ownedPod("p", "it")
	pod.OwnerReferences[0].Controller = nil
	if (Object{UID: "it"}).Owns(&pod) {
		t.Error("a pod that refers to it without being controlled by it is its own")
	}
	if (Object{UID: "it"}).Owns(&corev1.Pod{}) {
		t.Error("a pod of nobody is its own")
	}
}

// What an object's status does not tell is counted, or left open.
func TestCounted(t *testing.T) {
	t.Parallel()
	pod := func(controller types.UID, ready, going bool) corev1.Pod {
		p := ownedPod("p", controller)
		if ready {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		if going {
			p.DeletionTimestamp = new(metav1.Now())
		}
		return p
	}
	pods := []corev1.Pod{pod("it", true, false), pod("set", true, false), pod("it", false, false), pod("it", true, true), pod("other", true, false)}
	between := map[types.UID]types.UID{"set": "it"}
	for name, test := range map[string]struct {
		object   Object
		replicas Replicas
		verdict  Verdict
		reason   string
	}{
		"the status tells": {
			Object{Foreign: true, Untracked: true, Desired: 4, Current: 4, Ready: 4}, Replicas{4, 4, 4}, Ready, "4 of 4 pods are ready",
		},
		"the status tells nothing": {
			Object{Foreign: true, Untracked: true, Uncounted: true, Desired: 3, Current: 9, Ready: 9}, Replicas{3, 3, 2}, Progressing, "2 of 3 pods are ready",
		},
		"nor how many are wanted": {
			Object{Foreign: true, Untracked: true, Uncounted: true, NoCount: true, Desired: 1}, Replicas{3, 3, 2}, Progressing, "2 of 3 pods are ready",
		},
		"the status tells, but not how many are wanted": {
			Object{Foreign: true, Untracked: true, NoCount: true, Desired: 1, Current: 2, Ready: 2}, Replicas{2, 2, 2}, Ready, "2 of 2 pods are ready",
		},
		"a generation that nobody saw": {
			Object{Foreign: true, Uncounted: true, Generation: 2, ObservedGeneration: 1, Desired: 3}, Replicas{3, 3, 2}, NotReconciled, "generation 2, controller saw 1",
		},
	} {
		test.object.UID, test.object.Between = "it", between
		r := NewReport(test.object, pods)
		if r.Replicas != test.replicas || r.Verdict != test.verdict || r.Reason != test.reason || r.Hint != "" {
			t.Errorf("%s: %+v, %s: %s (%s)", name, r.Replicas, r.Verdict, r.Reason, r.Hint)
		}
		if len(r.Pods) != 4 {
			t.Errorf("%s: it lists %d pods, want 4", name, len(r.Pods))
		}
	}
	none := NewReport(Object{UID: "alone", Foreign: true, Untracked: true, Uncounted: true, NoCount: true, Desired: 1}, pods)
	if none.Verdict != NotReconciled || none.Replicas != (Replicas{}) {
		t.Errorf("without a pod and without a count, it is %+v", none)
	}
}
