package status

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pods belong to an object through whatever stands between, and to no other.
func TestOwns(t *testing.T) {
	t.Parallel()
	children := []Child{
		{UID: "replicaset", Controller: "deployment"}, {UID: "deployment", Controller: "it"}, {UID: "alien-set", Controller: "alien"},
		{UID: "ring-a", Controller: "ring-b"}, {UID: "ring-b", Controller: "ring-a"}, {UID: "self", Controller: "self"}, {UID: "topless"},
	}
	// Chains of ever more objects in between, c1 being the next to the object.
	before := types.UID("it")
	for i := byte('1'); i <= '9'; i++ {
		children = append(children, Child{UID: types.UID("c" + string(i)), Controller: before})
		before = children[len(children)-1].UID
	}
	f := newFamily(Snapshot{Object: Object{UID: "it"}, Children: children})
	for controller, want := range map[types.UID]bool{
		"it": true, "deployment": true, "replicaset": true, "c1": true, "c8": true,
		"c9":    false, // deeper than anything is
		"alien": false, "alien-set": false, "unknown": false, "ring-a": false, "self": false, "topless": false,
	} {
		pods := []corev1.Pod{ownedPod("p", controller)}
		if got := len(f.pods(pods)) == 1; got != want {
			t.Errorf("a pod of %s is its own: %t, want %t", controller, got, want)
		}
	}
	referring := ownedPod("p", "it")
	referring.OwnerReferences[0].Controller = nil
	if len(f.pods([]corev1.Pod{referring, {}})) > 0 {
		t.Error("a pod that refers to it without being controlled by it, or that is nobody's, is its own")
	}
	if len(newFamily(Snapshot{}).pods([]corev1.Pod{ownedPod("p", "")})) > 0 {
		t.Error("a pod is an object's that has no UID")
	}
	var own []types.UID
	for _, child := range f.own(children[:3]) {
		own = append(own, child.UID)
	}
	if want := []types.UID{"replicaset", "deployment"}; !slices.Equal(own, want) {
		t.Errorf("its children are %v, want %v", own, want)
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
	children := []Child{{UID: "set", Controller: "it", Kind: "ReplicaSet", Name: "s"}}
	for name, test := range map[string]struct {
		object   Object
		replicas Replicas
		verdict  Verdict
		reason   string
	}{
		"the status tells": {
			Object{Foreign: true, Untracked: true, Desired: 4, Current: 4, Ready: 4}, Replicas{Desired: 4, Current: 4, Ready: 4}, Progressing, "2 of 4 pods ready, although its status counts 4",
		},
		"the status tells nothing": {
			Object{Foreign: true, Untracked: true, Uncounted: true, Desired: 3, Current: 9, Ready: 9}, Replicas{Desired: 3, Current: 3, Ready: 2}, Progressing, "2 of 3 pods ready",
		},
		"nor how many are wanted": {
			Object{Foreign: true, Untracked: true, Uncounted: true, NoCount: true, Desired: 1}, Replicas{Unknown: true, Desired: 3, Current: 3, Ready: 2}, Progressing, "2 of 3 pods ready",
		},
		"the status tells, but not how many are wanted": {
			Object{Foreign: true, Untracked: true, NoCount: true, Desired: 1, Current: 2, Ready: 2}, Replicas{Unknown: true, Desired: 2, Current: 2, Ready: 2}, Ready, "2 of 2 pods ready",
		},
		"a generation that nobody saw": {
			Object{Foreign: true, Uncounted: true, Generation: 2, ObservedGeneration: 1, Desired: 3}, Replicas{Desired: 3, Current: 3, Ready: 2}, NotReconciled, "its controller has not seen the last change (generation 2, observed 1)",
		},
	} {
		test.object.UID = "it"
		r := NewReport(Snapshot{Object: test.object, Pods: pods, Children: children, Now: lookedAt()})
		if r.Replicas != test.replicas || r.Verdict != test.verdict || r.Reason != test.reason {
			t.Errorf("%s: %+v, %s: %s (%s)", name, r.Replicas, r.Verdict, r.Reason, r.Hint)
		}
		if len(r.Pods) != 4 {
			t.Errorf("%s: it lists %d pods, want 4", name, len(r.Pods))
		}
	}
	none := NewReport(Snapshot{Object: Object{UID: "alone", Foreign: true, Untracked: true, Uncounted: true, NoCount: true, Desired: 1}, Pods: pods})
	if none.Verdict != NotReconciled || none.Replicas != (Replicas{Unknown: true}) {
		t.Errorf("without a pod and without a count, it is %+v", none)
	}
}
