package status

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	const hint = "kubectl imoocpod run-controller -n ns"
	failure := func(s metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{{Type: apis.ConditionReplicaFailure, Status: s, Reason: "QuotaExceeded", Message: "no more pods"}}
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
			Failed, "QuotaExceeded: no more pods", "",
		},
		"a failure that is reported beside the right count": {
			Object{Generation: 2, ObservedGeneration: 2, Desired: 3, Current: 3, Ready: 3, Conditions: failure(metav1.ConditionTrue)},
			Failed, "QuotaExceeded: no more pods", "",
		},
		"being deleted, whatever else": {
			Object{Deleting: true, Generation: 2, ObservedGeneration: 2, Desired: 3, Current: 3, Ready: 3, Conditions: failure(metav1.ConditionTrue)},
			Progressing, "it is being deleted", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.object.Namespace = "ns"
			verdict, reason, hint := Judge(test.object)
			if verdict != test.verdict || reason != test.reason || hint != test.hint {
				t.Errorf("got %q, %q, %q; want %q, %q, %q", verdict, reason, hint, test.verdict, test.reason, test.hint)
			}
		})
	}
}
