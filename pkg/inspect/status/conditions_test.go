package status

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// Common conditions of operators contradict correct counts. Other conditions do not.
func TestContradiction(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind    string
		status  metav1.ConditionStatus
		desired int32
		against bool
	}{
		{"Ready", metav1.ConditionTrue, 3, false},
		{"Ready", metav1.ConditionUnknown, 3, true},
		{"Synced", metav1.ConditionFalse, 3, true},
		{"Healthy", metav1.ConditionFalse, 0, true},
		{"AllReplicasReady", metav1.ConditionTrue, 3, false},
		{"NotReady", metav1.ConditionTrue, 3, true},
		{"NotReady", metav1.ConditionFalse, 3, false},
		{"Degraded", metav1.ConditionTrue, 3, true},
		{"RollingOut", metav1.ConditionTrue, 3, true},
		{"RollingUpdate", metav1.ConditionUnknown, 3, false},
		{"Available", metav1.ConditionFalse, 3, true},
		{"Available", metav1.ConditionFalse, 0, false},
		{"Progressing", metav1.ConditionTrue, 3, false},
		{"Progressing", metav1.ConditionFalse, 3, false},
	} {
		o := Object{Counts: Counts{Desired: test.desired}, Evidence: Evidence{Conditions: []metav1.Condition{{Type: "Other", Status: metav1.ConditionFalse}, {Type: test.kind, Status: test.status}}}}
		if against := objections(o); len(against) > 0 != test.against || test.against && against[0].Type != test.kind {
			t.Errorf("%s is %s: %v", test.kind, test.status, against)
		}
	}
}

// Anyone who can write a status can add many conditions. The cost is linear in their number.
func TestCostOfConditions(t *testing.T) { // not parallel, because it counts allocations
	cost := func(size int) uint64 {
		var all []metav1.Condition
		for i := range size {
			all = append(all, metav1.Condition{Type: fmt.Sprint("Part", i, "Ready"), Status: metav1.ConditionFalse, Reason: "Odd"})
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		NewReport(Snapshot{Object: Object{Counts: Counts{Desired: 1}, Evidence: Evidence{Conditions: all}}, Now: time.Unix(0, 0)})
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	for size := 200; size <= 400; size *= 2 {
		if half, bytes := cost(size), cost(2*size); bytes > 5*half/2 {
			t.Errorf("%d conditions allocate %d bytes, half of them %d", 2*size, bytes, half)
		}
	}
}

// The pods of a completed object have ended, which is not a problem.
func TestCompletedObjectHasNoProblems(t *testing.T) {
	t.Parallel()
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "it-1", UID: "pod", OwnerReferences: []metav1.OwnerReference{{UID: "it", Controller: new(true)}}}, Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}
	for kind, problems := range map[string]int{"Complete": 0, "Available": 1} {
		o := Object{Identity: Identity{UID: "it", Foreign: true}, Counts: Counts{NoCount: true}, Evidence: Evidence{Generation: 1, ObservedGeneration: 1, Conditions: []metav1.Condition{{Type: kind, Status: metav1.ConditionTrue, Reason: "R"}}}}
		if r := NewReport(Snapshot{Object: o, Pods: problem.NewPods([]corev1.Pod{pod}), Now: lookedAt()}); len(r.Problems) != problems {
			t.Errorf("%s: %s: %s; the problems are %v", kind, r.Verdict, r.Reason, r.Problems)
		}
	}
}
