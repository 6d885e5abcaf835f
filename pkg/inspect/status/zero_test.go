package status

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// The verdict is parked when the object has reached zero, and not before.
func TestParkedVerdict(t *testing.T) {
	t.Parallel()
	by := &apis.ParkedCount{Replicas: 5, Path: ".spec.replicas", By: "alice", At: lookedAt().Add(-3 * time.Hour)}
	unnamed := &apis.ParkedCount{Replicas: 1, Path: ".spec.replicas", At: lookedAt().Add(-time.Minute)}
	deployment := Object{Identity: Identity{Type: "deployment.apps", Namespace: "shop", Name: "web", UID: "it", BuiltIn: true, Foreign: true}, Counts: Counts{Count: ".spec.replicas"}, Evidence: Evidence{Generation: 1, ObservedGeneration: 1}, Parked: by}
	uncounted := Object{Identity: Identity{Type: "search.example.com", Name: "it", UID: "it", Foreign: true}, Counts: Counts{NoCount: true, ReadyUnknown: true}, Evidence: Evidence{Generation: 1, Untracked: true}, Parked: unnamed}
	running := ownedPod("a", "it")
	ending := ownedPod("b", "it")
	ending.DeletionTimestamp = new(metav1.NewTime(lookedAt()))
	for _, test := range []struct {
		what   string
		change func(*Object)
		of     Object
		pods   []corev1.Pod
		want   Verdict
		reason string
	}{
		{"none left", nil, deployment, []corev1.Pod{}, Parked, "by alice 3h ago (5 replicas)"},
		{"not read", nil, deployment, nil, Parked, "by alice 3h ago (5 replicas)"},
		{"on their way out", nil, deployment, []corev1.Pod{ending}, Parked, "by alice 3h ago (5 replicas)"},
		{"still there", func(o *Object) { o.Current = 1 }, deployment, []corev1.Pod{running}, Progressing, ""},
		{"not seen", func(o *Object) { o.Generation = 2 }, deployment, []corev1.Pod{}, NotReconciled, ""},
		{"not parked", func(o *Object) { o.Parked = nil }, deployment, []corev1.Pod{}, Ready, "scaled to zero"},
		{"nobody counts", nil, uncounted, []corev1.Pod{}, Parked, "60s ago (1 replica)"},
		{"nobody counts, not parked", func(o *Object) { o.Parked = nil }, uncounted, []corev1.Pod{}, NotReconciled, ""},
		{"being deleted", func(o *Object) { o.Deleted = lookedAt() }, deployment, []corev1.Pod{}, Progressing, ""},
	} {
		o := test.of
		if test.change != nil {
			test.change(&o)
		}
		e := Snapshot{Object: o, Pods: problem.NewPods(test.pods), Now: lookedAt()}
		mustCarryFlags(t, e)
		r := NewReport(e)
		if r.Verdict != test.want || test.reason != "" && r.Reason != test.reason {
			t.Errorf("%s: %s: %s, want %s: %s", test.what, r.Verdict, r.Reason, test.want, test.reason)
		}
		hint := "kubectl imoocpod unpark " + o.Type + "/" + o.Name
		if o.Namespace != "" {
			hint += " -n " + o.Namespace
		}
		if r.Verdict == Parked && r.Hint != hint {
			t.Errorf("%s: the hint is %q", test.what, r.Hint)
		}
		if settled := r.Verdict.Settled(); settled != (test.want == Parked || test.want == Ready) {
			t.Errorf("%s: settled: %t", test.what, settled)
		}
	}
}

// If an autoscaler scaled its target to zero, the reason names the autoscaler. This is not so if a
// person set the count to zero or parked the object, or if pods are left.
func TestScaledToZeroByAnAutoscaler(t *testing.T) {
	t.Parallel()
	const byIt, byPerson = "scaled to zero by HorizontalPodAutoscaler/auto", "scaled to zero"
	deployment := Object{Identity: Identity{APIVersion: "apps/v1", Kind: "Deployment", Type: "deployment.apps", Namespace: "shop", Name: "web", UID: "it", BuiltIn: true, Foreign: true}, Counts: Counts{Count: ".spec.replicas"}, Evidence: Evidence{Generation: 1, ObservedGeneration: 1}}
	uncounted := Object{Identity: Identity{APIVersion: "apps/v1", Kind: "Deployment", Type: "search.example.com", Name: "web", UID: "it", Foreign: true}, Counts: Counts{ReadyUnknown: true, Count: ".spec.replicas"}, Evidence: Evidence{Generation: 2, Untracked: true}}
	imoocpod := Object{Identity: Identity{APIVersion: "apps/v1", Kind: "Deployment", Type: "imoocpod", Name: "web", UID: "it"}, Counts: Counts{Count: ".spec.replicas"}, Evidence: Evidence{Generation: 1, ObservedGeneration: 1}}
	running := ownedPod("a", "it")
	parkedBy := &apis.ParkedCount{Replicas: 5, Path: ".spec.replicas", By: "alice", At: lookedAt().Add(-3 * time.Hour)}
	for _, test := range []struct {
		what    string
		of      Object
		change  func(*Object)
		hpa     func(*autoscalingv2.HorizontalPodAutoscaler)
		pods    []corev1.Pod
		verdict Verdict
		reason  string
	}{
		{"by it", deployment, nil, nil, []corev1.Pod{}, Ready, byIt},
		{"of a kind of ours", imoocpod, nil, nil, []corev1.Pod{}, Ready, byIt},
		{"where nothing tells that the change was seen", uncounted, nil, nil, []corev1.Pod{}, Ready, byIt},
		{"by a person", deployment, nil, func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Status.Conditions = nil }, []corev1.Pod{}, Ready, byPerson},
		{"by it, earlier", deployment, nil, func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Status.Conditions[0].Status = corev1.ConditionFalse }, []corev1.Pod{}, Ready, byPerson},
		{"of another object", deployment, nil, func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.ScaleTargetRef.Name = "db" }, []corev1.Pod{}, Ready, byPerson},
		{"parked", deployment, func(o *Object) { o.Parked = parkedBy }, nil, []corev1.Pod{}, Parked, "by alice 3h ago (5 replicas)"},
		{"still there", deployment, func(o *Object) { o.Current = 1 }, nil, []corev1.Pod{running}, Progressing, ""},
		{"scaled up since", deployment, func(o *Object) { o.Desired, o.Current = 1, 0 }, nil, []corev1.Pod{}, Progressing, ""},
		{"not seen", deployment, func(o *Object) { o.Generation = 2 }, nil, []corev1.Pod{}, NotReconciled, ""},
		{"failing", deployment, func(o *Object) {
			o.Conditions = []metav1.Condition{{Type: "ReplicaFailure", Status: metav1.ConditionTrue, Reason: "x", Message: "y"}}
		}, nil, []corev1.Pod{}, Failed, ""},
		{"being deleted", deployment, func(o *Object) { o.Deleted = lookedAt() }, nil, []corev1.Pod{}, Progressing, ""},
	} {
		o := test.of
		if test.change != nil {
			test.change(&o)
		}
		h := autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "auto"}}
		h.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
		h.Spec.MinReplicas, h.Spec.MaxReplicas = new(int32(0)), 9
		h.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{{Type: autoscalingv2.ScaledToZero, Status: corev1.ConditionTrue}}
		if test.hpa != nil {
			test.hpa(&h)
		}
		r := NewReport(Snapshot{Object: o, Pods: problem.NewPods(test.pods), Autoscalers: []autoscalingv2.HorizontalPodAutoscaler{h}, Now: lookedAt()})
		if r.Verdict != test.verdict || test.reason != "" && r.Reason != test.reason {
			t.Errorf("%s: %s: %s, want %s: %s", test.what, r.Verdict, r.Reason, test.verdict, test.reason)
		}
	}
}
