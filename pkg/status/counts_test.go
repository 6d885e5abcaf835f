package status

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/problem"
)

// Each count and condition of an object is a part of what makes it ready.
func TestWhatMakesReady(t *testing.T) {
	t.Parallel()
	condition := func(kind string, status metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{{Type: kind, Status: status, Reason: "R", Message: "m"}}
	}
	three := func(change func(*Object)) Object {
		o := Object{UID: "it", Generation: 2, ObservedGeneration: 2, Desired: 3, Current: 3, Ready: 3}
		change(&o)
		return o
	}
	pods := func(n int) []corev1.Pod {
		all := []corev1.Pod{}
		for range n {
			pod := ownedPod("p", "it")
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			all = append(all, pod)
		}
		return all
	}
	ending := pods(4)
	ending[3].DeletionTimestamp = &metav1.Time{Time: lookedAt()}
	for name, test := range map[string]struct {
		object   Object
		pods     []corev1.Pod
		children []Child
		code     problem.Code
		reason   string
	}{
		"not available for long": {three(func(o *Object) { o.Available = new(int32(1)) }), nil, nil, problem.CodePodsStarting, "3 of 3 pods ready, 1 available"},
		"available":              {three(func(o *Object) { o.Available = new(int32(3)) }), nil, nil, problem.CodeReady, "3 of 3 pods ready"},
		"a partition that is updated": {three(func(o *Object) { o.Updated, o.UpdatedWanted = new(int32(1)), new(int32(1)) }), nil, nil,
			problem.CodeReady, "3 of 3 pods ready"},
		"a partition that is not": {three(func(o *Object) { o.Updated, o.UpdatedWanted = new(int32(0)), new(int32(2)) }), nil, nil,
			problem.CodePodsOutdated, "3 of 3 pods ready, 2 not yet replaced"},
		"several groups, of which one lacks pods": {three(func(o *Object) { o.Several, o.Current, o.Ready = true, 2, 2 }), nil, nil,
			problem.CodePodsMissing, "2 of 2 pods ready in total, 1 not yet created"},
		"several groups, of which one has pods to come": {three(func(o *Object) { o.Several, o.Current, o.Ready = true, 5, 4 }), nil, nil,
			problem.CodePodsStarting, "4 of 5 pods ready in total"},
		"scaled to zero, so that none is available": {three(func(o *Object) {
			o.Desired, o.Current, o.Ready, o.Conditions = 0, 0, 0, condition("Available", metav1.ConditionFalse)
		}), nil, nil, problem.CodeReady, "0 of 0 pods ready"},
		"a condition says that too few are available": {three(func(o *Object) { o.Conditions = condition("Available", metav1.ConditionFalse) }), nil, nil,
			problem.CodeConditionFalse, "3 of 3 pods ready, but its condition Available is False: R: m"},
		"a condition says that it is at work": {three(func(o *Object) { o.Conditions = condition("Reconciling", metav1.ConditionTrue) }), nil, nil,
			problem.CodeConditionFalse, "3 of 3 pods ready, but its condition Reconciling is True: R: m"},
		"a condition says that it is at rest": {three(func(o *Object) { o.Conditions = condition("Reconciling", metav1.ConditionFalse) }), nil, nil,
			problem.CodeReady, "3 of 3 pods ready"},
		"more were ready than are wanted": {three(func(o *Object) { o.Ready = 4 }), pods(3), nil, problem.CodeReady, "4 of 3 pods ready"},
		"fewer pods are ready than it counts": {three(func(*Object) {}), pods(2), nil,
			problem.CodeStatusBehind, "2 of 3 pods ready, although its status counts 3"},
		"fewer than a built-in kind counts": {three(func(o *Object) { o.BuiltIn = true }), pods(2), nil, problem.CodeReady, "3 of 3 pods ready"},
		"a pod more":                        {three(func(*Object) {}), pods(4), nil, problem.CodePodsSurplus, "4 pods, 1 too many"},
		"a pod more, which is on its way":   {three(func(*Object) {}), ending, nil, problem.CodeReady, "3 of 3 pods ready"},
		"a child that tells of no generation": {three(func(*Object) {}), nil, []Child{{Kind: "Set", Name: "s", UID: "s", Controller: "it", Generation: 2}},
			problem.CodeReady, "3 of 3 pods ready"},
	} {
		r := NewReport(Snapshot{Object: test.object, Pods: test.pods, Children: test.children, Now: lookedAt()})
		if r.ReasonCode != test.code || r.Reason != test.reason || (r.Verdict == Ready) != (test.code == problem.CodeReady) {
			t.Errorf("%s: it is %s (%s): %q, want %s: %q", name, r.Verdict, r.ReasonCode, r.Reason, test.code, test.reason)
		}
	}
}

// No object is its own child, whatever its references say.
func TestNoObjectIsItsOwnChild(t *testing.T) {
	t.Parallel()
	e := Snapshot{Object: Object{UID: "it"}, Children: []Child{{UID: "it", Controller: "it"}, {UID: "s", Controller: "it"}}}
	if own := e.Own(); len(own) != 1 || own[0].UID != "s" {
		t.Errorf("its own children are %v", own)
	}
}
