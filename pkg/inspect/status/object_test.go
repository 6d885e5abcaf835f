package status

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/reconciler"
)

// If the status lacks a count, the pods are counted. If this is impossible, the count is unknown.
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
	pods := []corev1.Pod{pod("it", true, false), pod("set", true, false), pod("it", false, false), pod("it", true, true)}
	children := []Child{{UID: "set", Controller: "it", Kind: "ReplicaSet", Name: "s"}}
	for name, test := range map[string]struct {
		object   Object
		replicas Replicas
		verdict  Verdict
		reason   string
	}{
		"the status tells": {
			Object{Identity: Identity{Foreign: true}, Counts: Counts{Desired: 4, Current: 4, Ready: 4}, Evidence: Evidence{Untracked: true}}, Replicas{Desired: 4, Current: 4, Ready: 4}, Progressing, "2 of 4 pods ready, although its status counts 4",
		},
		"the status tells nothing": {
			Object{Identity: Identity{Foreign: true}, Counts: Counts{ReadyUnknown: true, Desired: 3, Current: 9, Ready: 9}, Evidence: Evidence{Untracked: true}}, Replicas{Desired: 3, Current: 3, Ready: 2}, Progressing, "2 of 3 pods ready",
		},
		"nor how many are wanted": {
			Object{Identity: Identity{Foreign: true}, Counts: Counts{ReadyUnknown: true, NoCount: true, Desired: 1}, Evidence: Evidence{Untracked: true}}, Replicas{Unknown: true, Desired: 3, Current: 3, Ready: 2}, Progressing, "2 of 3 pods ready",
		},
		"the status tells, but not how many are wanted": {
			Object{Identity: Identity{Foreign: true}, Counts: Counts{NoCount: true, Desired: 1, Current: 2, Ready: 2}, Evidence: Evidence{Untracked: true}}, Replicas{Unknown: true, Desired: 2, Current: 2, Ready: 2}, Ready, "2 of 2 pods ready",
		},
		"a generation that nobody saw": {
			Object{Identity: Identity{Foreign: true}, Counts: Counts{ReadyUnknown: true, Desired: 3}, Evidence: Evidence{Generation: 2, ObservedGeneration: 1}}, Replicas{Desired: 3, Current: 3, Ready: 2}, NotReconciled, "its controller has not seen the last change (generation 2, observed 1)",
		},
	} {
		test.object.UID = "it"
		r := NewReport(Snapshot{Object: test.object, Pods: problem.NewPods(pods), Children: children, Now: lookedAt()})
		if r.Replicas != test.replicas || r.Verdict != test.verdict || r.Reason != test.reason {
			t.Errorf("%s: %+v, %s: %s (%s)", name, r.Replicas, r.Verdict, r.Reason, r.Hint)
		}
		if len(r.Pods) != 4 {
			t.Errorf("%s: it lists %d pods, want 4", name, len(r.Pods))
		}
	}
	none := NewReport(Snapshot{Object: Object{Identity: Identity{UID: "alone", Foreign: true}, Counts: Counts{ReadyUnknown: true, NoCount: true, Desired: 1}, Evidence: Evidence{Untracked: true}}})
	if none.Verdict != NotReconciled || none.Replicas != (Replicas{Unknown: true}) {
		t.Errorf("without a pod and without a count, it is %+v", none)
	}
}

// If an object has no count, the reason for the verdict names its finished pods or a condition.
func TestWithoutPods(t *testing.T) {
	t.Parallel()
	complete := []metav1.Condition{{Type: "Other", Status: metav1.ConditionTrue}, {Type: "Complete", Status: metav1.ConditionTrue, Reason: "CompletionsReached"}}
	for name, test := range map[string]struct {
		conditions []metav1.Condition
		live, all  int
		verdict    Verdict
		reason     string
	}{
		"no pods":        {nil, 0, 0, NotReconciled, "no controller has written its status; no replica field is known for this type, and it has no pods"},
		"a pod ended":    {nil, 0, 1, Progressing, "no replica field is known for this type, and 1 pod ended"},
		"pods run":       {nil, 2, 3, Progressing, "its status counts none of 2 pods as ready"},
		"complete":       {complete, 0, 4, Ready, "its condition Complete is True: CompletionsReached"},
		"complete, gone": {complete, 0, 0, Ready, "its condition Complete is True: CompletionsReached"},
		"not complete":   {complete[:1], 0, 4, Progressing, "no replica field is known for this type, and 4 pods ended"},
	} {
		pods := make([]problem.Pod, test.all)
		for i := range test.all - test.live {
			pods[i].Phase = corev1.PodSucceeded
		}
		o := Object{Identity: Identity{Resource: "jobs.batch", Foreign: true, BuiltIn: true}, Counts: Counts{NoCount: true}, Evidence: Evidence{Untracked: true, Generation: 1, Managers: wrote("", 60, 30), Conditions: test.conditions}}
		if v := judge(Snapshot{Object: o}, Report{Pods: pods, Reconciler: reconciler.Reconciler{Status: &fieldpath.Write{}}}); v.verdict != test.verdict || v.reason != test.reason {
			t.Errorf("%s: %s: %s, want %s: %s", name, v.verdict, v.reason, test.verdict, test.reason)
		}
	}
}

// If the status has no counts, active pods are counted. If no pods are visible, the count in /scale
// is used.
func TestCountedPods(t *testing.T) {
	t.Parallel()
	ending, ended, failed, up, down := problem.Pod{Ending: true, Ready: true}, problem.Pod{Phase: corev1.PodSucceeded}, problem.Pod{Phase: corev1.PodFailed}, problem.Pod{Ready: true}, problem.Pod{}
	set := func(uid types.UID, wanted int32) Child { return Child{UID: uid, Controller: "it", Desired: &wanted} }
	for name, test := range map[string]struct {
		object         Object
		pods           []problem.Pod
		children       []Child
		current, ready int32
		several        bool
	}{
		"those that stay":                    {Object{Counts: Counts{ReadyUnknown: true}}, []problem.Pod{ending, ended, failed, up, down}, nil, 2, 1, false},
		"the status tells":                   {Object{Counts: Counts{Current: 5, Ready: 4}}, []problem.Pod{up}, nil, 5, 4, false},
		"/scale tells":                       {Object{Counts: Counts{ReadyUnknown: true, ScaleCount: new(int32(5))}}, nil, nil, 5, 5, false},
		"/scale tells, and there is a pod":   {Object{Counts: Counts{ReadyUnknown: true, ScaleCount: new(int32(5))}}, []problem.Pod{down}, nil, 1, 0, false},
		"/scale tells, and a set has none":   {Object{Counts: Counts{ReadyUnknown: true, ScaleCount: new(int32(5))}}, nil, []Child{set("a", 1)}, 0, 0, false},
		"/scale tells, and names a selector": {Object{Counts: Counts{ReadyUnknown: true, ScaleCount: new(int32(5)), Selects: true}}, nil, nil, 0, 0, false},
		"one set":                            {Object{Identity: Identity{Foreign: true}, Counts: Counts{ReadyUnknown: true}}, []problem.Pod{up}, []Child{set("a", 1), set("b", 0)}, 1, 1, false},
		"two sets":                           {Object{Identity: Identity{Foreign: true}, Counts: Counts{ReadyUnknown: true}}, []problem.Pod{up}, []Child{set("a", 1), set("b", 2)}, 1, 1, true},
		"two sets of ours":                   {Object{Counts: Counts{ReadyUnknown: true}}, []problem.Pod{up}, []Child{set("a", 1), set("b", 2)}, 1, 1, false},
		"two sets of another":                {Object{Identity: Identity{Foreign: true, UID: "that"}, Counts: Counts{ReadyUnknown: true}}, []problem.Pod{up}, []Child{set("a", 1), set("b", 2)}, 1, 1, false},
	} {
		if test.object.UID == "" {
			test.object.UID = "it"
		}
		o := test.object.counted(test.pods, test.children)
		if o.Current != test.current || o.Ready != test.ready || o.Several != test.several {
			t.Errorf("%s: %d, %d ready, several: %t; want %d, %d, %t", name, o.Current, o.Ready, o.Several, test.current, test.ready, test.several)
		}
	}
}

func TestInUnits(t *testing.T) {
	t.Parallel()
	set := func(wanted, ready int32) Child {
		return Child{UID: "a", Controller: "it", Desired: &wanted, Ready: &ready}
	}
	for name, test := range map[string]struct {
		told           int32
		children       []Child
		current, ready int32
	}{
		"a child for each":                 {0, []Child{set(3, 3), set(3, 1)}, 2, 1},
		"a child for each, and one unused": {0, []Child{set(3, 3), set(3, 3), set(0, 0)}, 2, 2},
		"none wanted":                      {1, nil, 1, 1},
		"no child":                         {2, nil, 2, 2},
		"no child that is used":            {1, []Child{set(0, 0)}, 1, 1},
		"one child for all":                {2, []Child{set(3, 3)}, 2, 2},
		"one child for all, not ready":     {2, []Child{set(3, 1)}, 2, 0},
		"one child for all, told late":     {0, []Child{set(3, 3)}, 1, 1},
		"more children":                    {1, []Child{set(1, 1), set(1, 1), set(1, 1)}, 2, 2},
		"children of another":              {1, []Child{{UID: "b", Controller: "that", Desired: new(int32(1))}}, 1, 1},
	} {
		o := Object{Identity: Identity{UID: "it"}, Counts: Counts{Desired: 2, Unit: "shard", ReadyUnknown: true, ScaleCount: new(test.told)}}
		if name == "none wanted" {
			o.Desired = 0
		}
		if current, ready := o.inUnits(test.children); current != test.current || ready != test.ready {
			t.Errorf("%s: %d, %d ready; want %d, %d", name, current, ready, test.current, test.ready)
		}
	}
}

// An active pod has the newest template if its label matches or is missing.
func TestUpdatedOf(t *testing.T) {
	t.Parallel()
	pod := func(hash string, change func(*corev1.Pod)) problem.Pod {
		p := &corev1.Pod{}
		if hash != "" {
			p.Labels = map[string]string{apis.LabelTemplateHash: hash}
		}
		change(p)
		return *problem.NewPod(p)
	}
	same := func(*corev1.Pod) {}
	o := Object{Counts: Counts{Template: "new"}}.updatedOf([]problem.Pod{
		pod("new", same), pod("", same), pod("", same), pod("old", same), pod("old", same), pod("old", same), pod("old", same),
		pod("new", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }),
		pod("new", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }),
		pod("new", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }),
	})
	if *o.Updated != 3 {
		t.Errorf("%d are updated, want 3", *o.Updated)
	}
}

// If fewer pods are ready than the status counts, doubted corrects only the counts and the
// conditions.
func TestDoubtedCounts(t *testing.T) {
	t.Parallel()
	object := func() Object {
		return Object{
			Counts: Counts{Ready: 3, Available: new(int32(3))},
			Evidence: Evidence{Conditions: []metav1.Condition{
				{Type: "Ready", Status: metav1.ConditionTrue, Message: "all are."}, {Type: "Available", Status: metav1.ConditionTrue}, {Type: "Other", Status: metav1.ConditionTrue}, {Type: "Ready", Status: metav1.ConditionFalse},
			}},
		}
	}
	for ready, note := range map[int32]string{
		0: ", but 3 of its pods are no longer ready, or not yet for minReadySeconds",
		2: ", but 1 of its pods is no longer ready, or not yet for minReadySeconds",
		3: "", 4: "",
	} {
		pods := make([]problem.Pod, 5)
		for i := range ready {
			pods[i].Ready = true
		}
		o := object().doubted(pods)
		left := min(ready, 3)
		message := strings.TrimSuffix("all are.", ".") + note
		if note == "" {
			message = "all are."
		}
		if o.Ready != left || *o.Available != left || o.Conditions[0].Message != message || o.Conditions[1].Message != note || o.Conditions[2].Message+o.Conditions[3].Message != "" {
			t.Errorf("%d ready: %d, %d available, %+v", ready, o.Ready, *o.Available, o.Conditions)
		}
	}
}
