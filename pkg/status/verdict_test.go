package status

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	const hint = "kubectl imoocpod run-controller -n ns --kinds lamps.x"
	failure := func(s metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{{Type: apis.ConditionReplicaFailure, Status: s, Reason: "QuotaExceeded", Message: "exceeded quota"}}
	}
	ready := func(s metav1.ConditionStatus, generation int64) []metav1.Condition {
		return []metav1.Condition{{Type: apis.ConditionReady, Status: s, ObservedGeneration: generation, Reason: "Syncing", Message: "the members elect"}}
	}
	for name, test := range map[string]struct {
		object  Object
		verdict Verdict
		reason  string
		hint    string
	}{
		"never seen": {
			Object{Generation: 1, Desired: 3},
			NotReconciled, "no controller has seen it yet", hint,
		},
		"never seen, and none wanted": {
			Object{Generation: 1},
			NotReconciled, "no controller has seen it yet", hint,
		},
		"a change not seen, though the counts are those wanted": {
			Object{Generation: 3, ObservedGeneration: 2, Desired: 3, Current: 3, Ready: 3},
			NotReconciled, "generation 3, controller saw 2", hint,
		},
		"a change not seen hides an old failure": {
			Object{Generation: 3, ObservedGeneration: 2, Desired: 3, Conditions: failure(metav1.ConditionTrue)},
			NotReconciled, "generation 3, controller saw 2", hint,
		},
		"all ready": {
			Object{Generation: 2, ObservedGeneration: 2, Desired: 3, Current: 3, Ready: 3, Conditions: failure(metav1.ConditionFalse)},
			Ready, "3 of 3 pods are ready", "",
		},
		"none wanted and none there": {
			Object{Generation: 2, ObservedGeneration: 2},
			Ready, "0 of 0 pods are ready", "",
		},
		"pods to be made": {
			Object{Generation: 2, ObservedGeneration: 2, Desired: 3, Current: 1, Ready: 1},
			Progressing, "1 of 3 pods are ready, 2 not yet made", "",
		},
		"pods made and not ready": {
			Object{Generation: 2, ObservedGeneration: 2, Desired: 3, Current: 3, Ready: 1},
			Progressing, "1 of 3 pods are ready", "",
		},
		"pods to be removed": {
			Object{Generation: 2, ObservedGeneration: 2, Desired: 1, Current: 3, Ready: 1},
			Progressing, "3 pods are there, 2 too many", "",
		},
		"more ready than wanted": {
			Object{Generation: 2, ObservedGeneration: 2, Desired: 1, Current: 3, Ready: 3},
			Progressing, "3 pods are there, 2 too many", "",
		},
		"a refused create": {
			Object{Generation: 2, ObservedGeneration: 2, Desired: 3, Current: 1, Ready: 1, Conditions: failure(metav1.ConditionTrue)},
			Failed, "no more pods can be created: exceeded quota", "kubectl describe quota -n ns",
		},
		"a failure that is reported beside the right count": {
			Object{Generation: 2, ObservedGeneration: 2, Desired: 3, Current: 3, Ready: 3, Conditions: failure(metav1.ConditionTrue)},
			Failed, "no more pods can be created: exceeded quota", "kubectl describe quota -n ns",
		},
		"pods of an older template": {
			Object{Generation: 2, ObservedGeneration: 2, Desired: 3, Current: 3, Ready: 3, Updated: new(int32(1))},
			Progressing, "3 of 3 pods are ready, 2 not yet replaced", "",
		},
		"all of the newest template": {
			Object{Generation: 2, ObservedGeneration: 2, Desired: 3, Current: 3, Ready: 3, Updated: new(int32(3))},
			Ready, "3 of 3 pods are ready", "",
		},
		"a kind that tells by its conditions, and has none": {
			Object{Foreign: true, Untracked: true, Conditioned: true, Generation: 2, Desired: 3, Current: 3, Ready: 3},
			NotReconciled, "no controller has seen it yet", "is the controller of lamps.x installed, and does it run?",
		},
		"a condition of an older generation": {
			Object{Foreign: true, Untracked: true, Conditioned: true, Generation: 4, Desired: 3, Current: 3, Ready: 3, Conditions: ready(metav1.ConditionTrue, 3)},
			NotReconciled, "generation 4, controller saw 3", "is the controller of lamps.x installed, and does it run?",
		},
		"a condition says that it is ready": {
			Object{Foreign: true, Untracked: true, Conditioned: true, Generation: 4, Desired: 3, Current: 3, Ready: 3, Conditions: ready(metav1.ConditionTrue, 0)},
			Ready, "3 of 3 pods are ready", "",
		},
		"a condition says that it is not ready, whatever the counts": {
			Object{Foreign: true, Untracked: true, Conditioned: true, Generation: 4, Desired: 3, Current: 3, Ready: 3, Conditions: ready(metav1.ConditionFalse, 4)},
			Progressing, "3 of 3 pods are ready, but its condition Ready is False: Syncing: the members elect", "",
		},
		"being deleted, whatever else": {
			Object{Deleted: lookedAt(), Generation: 2, ObservedGeneration: 2, Desired: 3, Current: 3, Ready: 3, Conditions: failure(metav1.ConditionTrue)},
			Progressing, "it is being deleted", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.object.Namespace, test.object.Resource = "ns", "lamps.x"
			r := NewReport(Evidence{Object: test.object, Now: lookedAt()})
			verdict, reason, hint := r.Verdict, r.Reason, r.Hint
			if verdict != test.verdict || reason != test.reason || hint != test.hint {
				t.Errorf("got %q, %q, %q; want %q, %q, %q", verdict, reason, hint, test.verdict, test.reason, test.hint)
			}
		})
	}
}
