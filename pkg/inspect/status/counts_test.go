package status

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

func TestWhatMakesReady(t *testing.T) {
	t.Parallel()
	condition := func(kind string, status metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{{Type: kind, Status: status, Reason: "R", Message: "m"}}
	}
	three := func(change func(*Object)) Object {
		o := Object{Identity: Identity{UID: "it"}, Counts: Counts{Desired: 3, Current: 3, Ready: 3}, Evidence: Evidence{Generation: 2, ObservedGeneration: 2}}
		change(&o)
		return o
	}
	pods := func(n int) problem.Pods {
		all := problem.Pods{}
		for range n {
			pod := ownedPod("p", "it")
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			all = append(all, problem.NewPod(&pod))
		}
		return all
	}
	gone := ownedPod("p", "it")
	gone.DeletionTimestamp = &metav1.Time{Time: lookedAt()}
	ending := append(pods(3), problem.NewPod(&gone))
	for name, test := range map[string]struct {
		object   Object
		pods     problem.Pods
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
		"no pods, although it counts 3": {three(func(*Object) {}), pods(0), nil,
			problem.CodeStatusBehind, "0 of 3 pods ready, although its status counts 3"},
		"no pods of another program's object": {three(func(o *Object) { o.Foreign = true }), pods(0), nil, problem.CodeReady, "3 of 3 pods ready"},
		"broken pods, which it counts": {three(func(*Object) {}), recorded(t, "node-lost").Pods, nil,
			problem.CodeNodeLost, "pod foo-2d5dfdbb-0: Node node-1 which was running pod foo-2d5dfdbb-0 is unresponsive"},
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

// Counts of units other than pods are compared with /scale.
func TestShortfallInUnits(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		object Object
		want   string
	}{
		"too many":        {Object{Counts: Counts{Unit: "shard", ReadyUnknown: true, Desired: 2, ScaleCount: new(int32(3))}}, "3 shards, 1 too many"},
		"too few":         {Object{Counts: Counts{Unit: "shard", ReadyUnknown: true, Desired: 2, ScaleCount: new(int32(1))}}, "1 of 2 shards exist"},
		"as many":         {Object{Counts: Counts{Unit: "shard", ReadyUnknown: true, Desired: 2, ScaleCount: new(int32(2)), Current: 2, Ready: 2}}, ""},
		"nothing told":    {Object{Counts: Counts{Unit: "shard", ReadyUnknown: true, Desired: 2, Current: 2, Ready: 2}}, ""},
		"pods are":        {Object{Counts: Counts{ReadyUnknown: true, Desired: 2, ScaleCount: new(int32(3)), Current: 2, Ready: 2}}, ""},
		"the status does": {Object{Counts: Counts{Unit: "shard", Desired: 2, ScaleCount: new(int32(3)), Current: 2, Ready: 2}}, ""},
		"no count":        {Object{Counts: Counts{Unit: "shard", ReadyUnknown: true, NoCount: true, Desired: 2, ScaleCount: new(int32(3)), Current: 2, Ready: 2}}, ""},
	} {
		if got := shortfall(test.object, "counts"); (got != nil) != (test.want != "") || got != nil && got.reason != test.want {
			t.Errorf("%s: %+v, want %q", name, got, test.want)
		}
	}
}

// The hint names the CRD that can declare the replica field. Built-in kinds have no CRD.
func TestNameTheField(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]Object{
		"kubectl annotate crd lamps.x imoocpod.dev/replicas-path=PATH": {Identity: Identity{Resource: "lamps.x"}}, "": {Identity: Identity{Resource: "jobs.batch", BuiltIn: true}},
	} {
		if got := nameTheField(o, nil); got != want {
			t.Errorf("%+v: %q, want %q", o, got, want)
		}
	}
	if got := nameTheField(Object{}, nil); got != "" {
		t.Errorf("of no kind, the hint is %q", got)
	}
}

// If the desired count is unknown, the verdict depends on the pods, ready-when, or a status condition.
func TestWithoutACount(t *testing.T) {
	t.Parallel()
	up := []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}
	pod := []corev1.Pod{ownedPod("p", "it")}
	pod[0].Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	for name, test := range map[string]struct {
		object Object
		pods   []corev1.Pod
		code   problem.Code
	}{
		"nothing":                    {Object{}, nil, problem.CodeNoPods},
		"a pod":                      {Object{}, pod, problem.CodeReady},
		"its condition":              {Object{Evidence: Evidence{Conditions: up}}, nil, problem.CodeReady},
		"its word":                   {Object{Evidence: Evidence{Word: Word{Ready: new(true)}}}, nil, problem.CodeReady},
		"its word is no":             {Object{Evidence: Evidence{Word: Word{Ready: new(false), Unmet: "it"}}}, nil, problem.CodeConditionFalse},
		"a pod of two in the spec":   {Object{Counts: Counts{Total: new(int32(2))}}, pod, problem.CodeCannotTell},
		"a pod of one in the spec":   {Object{Counts: Counts{Total: new(int32(1))}}, pod, problem.CodeReady},
		"two in the spec, its word":  {Object{Counts: Counts{Total: new(int32(2))}, Evidence: Evidence{Word: Word{Ready: new(true)}}}, pod, problem.CodeReady},
		"an untracked condition":     {Object{Evidence: Evidence{Untracked: true, Conditions: up}}, nil, problem.CodeChangeNotSeen},
		"two in the spec, condition": {Object{Counts: Counts{Total: new(int32(2))}, Evidence: Evidence{Conditions: up}}, pod, problem.CodeReady},
	} {
		o := test.object
		o.UID, o.Foreign, o.ReadyUnknown, o.NoCount, o.Generation, o.ObservedGeneration = "it", true, true, true, 1, 1
		if test.pods == nil {
			test.pods = []corev1.Pod{}
		}
		if r := NewReport(Snapshot{Object: o, Pods: problem.NewPods(test.pods), Now: lookedAt()}); r.ReasonCode != test.code {
			t.Errorf("%s: it is %s (%s): %s, want %s", name, r.Verdict, r.ReasonCode, r.Reason, test.code)
		}
	}
}

// If there are no pods and no children, a count of another unit is not enough. The count must be
// zero, or /scale or the object itself must confirm it.
func TestNothingToSee(t *testing.T) {
	t.Parallel()
	up := []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, ObservedGeneration: 1}}
	for name, test := range map[string]struct {
		change func(*Object)
		code   problem.Code
	}{
		"nothing tells":            {func(*Object) {}, problem.CodeCannotTell},
		"/scale tells":             {func(o *Object) { o.ScaleCount = new(int32(2)) }, problem.CodeReady},
		"/scale tells a selector":  {func(o *Object) { o.ScaleCount, o.Selects = new(int32(2)), true }, problem.CodeCannotTell},
		"a condition tells":        {func(o *Object) { o.Conditions = up }, problem.CodeReady},
		"its word tells":           {func(o *Object) { o.Word.Ready = new(true) }, problem.CodeReady},
		"none are wanted":          {func(o *Object) { o.Desired, o.Current, o.Ready = 0, 0, 0 }, problem.CodeReady},
		"pods are what is counted": {func(o *Object) { o.Unit, o.BuiltIn = "", true }, problem.CodeReady},
		"one of several groups":    {func(o *Object) { o.ScaleCount, o.Total = new(int32(2)), new(int32(1)) }, problem.CodeCannotTell},
		"of none":                  {func(o *Object) { o.ScaleCount, o.Total = new(int32(2)), new(int32(0)) }, problem.CodeReady},
	} {
		o := Object{Identity: Identity{UID: "it", Foreign: true}, Counts: Counts{Unit: "shard", Desired: 2, Current: 2, Ready: 2}, Evidence: Evidence{Generation: 1, ObservedGeneration: 1}}
		test.change(&o)
		if r := NewReport(Snapshot{Object: o, Pods: problem.Pods{}, Now: lookedAt()}); r.ReasonCode != test.code {
			t.Errorf("%s: it is %s (%s): %s, want %s", name, r.Verdict, r.ReasonCode, r.Reason, test.code)
		}
	}
}
