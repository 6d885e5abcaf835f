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

// An object is parked only after it has reached zero. If an autoscaler scaled it to zero, the reason
// names the autoscaler, except for a parked object or an object with remaining pods.
func TestAtZero(t *testing.T) {
	t.Parallel()
	const byAlice, byIt, byPerson = "by alice 3h ago (5 replicas)", "scaled to zero by HorizontalPodAutoscaler/auto", "scaled to zero"
	by := &apis.ParkedCount{Replicas: 5, Path: ".spec.replicas", By: "alice", At: lookedAt().Add(-3 * time.Hour)}
	unnamed := &apis.ParkedCount{Replicas: 1, Path: ".spec.replicas", At: lookedAt().Add(-time.Minute)}
	identity := Identity{APIVersion: "apps/v1", Kind: "Deployment", Type: "deployment.apps", Namespace: "shop", Name: "web", UID: "it", BuiltIn: true, Foreign: true}
	deployment := Object{Identity: identity, Counts: Counts{Count: ".spec.replicas"}, Evidence: Evidence{Generation: 1, ObservedGeneration: 1}}
	ours, unseen, uncounted := deployment, deployment, deployment
	ours.Foreign, ours.BuiltIn = false, false
	unseen.BuiltIn, unseen.Counts, unseen.Evidence = false, Counts{ReadyUnknown: true, Count: ".spec.replicas"}, Evidence{Generation: 2, Untracked: true}
	uncounted.BuiltIn, uncounted.Namespace, uncounted.Counts, uncounted.Evidence = false, "", Counts{NoCount: true, ReadyUnknown: true}, Evidence{Generation: 1, Untracked: true}
	none := []corev1.Pod{}
	running := []corev1.Pod{ownedPod("a", "it")}
	ending := []corev1.Pod{ownedPod("b", "it")}
	ending[0].DeletionTimestamp = new(metav1.NewTime(lookedAt()))
	same := func(*Object) {}
	failing := func(o *Object) {
		o.Conditions = []metav1.Condition{{Type: "ReplicaFailure", Status: metav1.ConditionTrue, Reason: "x", Message: "y"}}
	}
	scaledToZero := func(target string, status corev1.ConditionStatus) []autoscalingv2.HorizontalPodAutoscaler {
		h := autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "auto"}}
		h.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: target}
		h.Spec.MinReplicas, h.Spec.MaxReplicas = new(int32(0)), 9
		h.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{{Type: autoscalingv2.ScaledToZero, Status: status}}
		return []autoscalingv2.HorizontalPodAutoscaler{h}
	}
	it, earlier, other := scaledToZero("web", corev1.ConditionTrue), scaledToZero("web", corev1.ConditionFalse), scaledToZero("db", corev1.ConditionTrue)
	person := scaledToZero("web", "")
	person[0].Status.Conditions = nil
	for _, test := range []struct {
		what   string
		of     Object
		parked *apis.ParkedCount
		change func(*Object)
		by     []autoscalingv2.HorizontalPodAutoscaler
		pods   []corev1.Pod
		want   Verdict
		reason string
	}{
		{"parked, none left", deployment, by, same, nil, none, Parked, byAlice},
		{"parked, not read", deployment, by, same, nil, nil, Parked, byAlice},
		{"parked, on their way out", deployment, by, same, nil, ending, Parked, byAlice},
		{"parked, still there", deployment, by, func(o *Object) { o.Current = 1 }, nil, running, Progressing, ""},
		{"parked, not seen", deployment, by, func(o *Object) { o.Generation = 2 }, nil, none, NotReconciled, ""},
		{"parked, being deleted", deployment, by, func(o *Object) { o.Deleted = lookedAt() }, nil, none, Progressing, ""},
		{"parked, and an autoscaler", deployment, by, same, it, none, Parked, byAlice},
		{"parked, nobody counts", uncounted, unnamed, same, nil, none, Parked, "60s ago (1 replica)"},
		{"not parked", deployment, nil, same, nil, none, Ready, byPerson},
		{"not parked, nobody counts", uncounted, nil, same, nil, none, NotReconciled, ""},
		{"by an autoscaler", deployment, nil, same, it, none, Ready, byIt},
		{"of a kind of ours", ours, nil, same, it, none, Ready, byIt},
		{"where nothing tells that the change was seen", unseen, nil, same, it, none, Ready, byIt},
		{"by a person", deployment, nil, same, person, none, Ready, byPerson},
		{"by an autoscaler, earlier", deployment, nil, same, earlier, none, Ready, byPerson},
		{"of another object", deployment, nil, same, other, none, Ready, byPerson},
		{"by an autoscaler, still there", deployment, nil, func(o *Object) { o.Current = 1 }, it, running, Progressing, ""},
		{"by an autoscaler, scaled up since", deployment, nil, func(o *Object) { o.Desired = 1 }, it, none, Progressing, ""},
		{"by an autoscaler, not seen", deployment, nil, func(o *Object) { o.Generation = 2 }, it, none, NotReconciled, ""},
		{"by an autoscaler, failing", deployment, nil, failing, it, none, Failed, ""},
		{"by an autoscaler, being deleted", deployment, nil, func(o *Object) { o.Deleted = lookedAt() }, it, none, Progressing, ""},
	} {
		o := test.of
		o.Parked = test.parked
		test.change(&o)
		e := Snapshot{Object: o, Pods: problem.NewPods(test.pods), Autoscalers: test.by, Now: lookedAt()}
		mustCarryFlags(t, e)
		r := NewReport(e)
		if r.Verdict != test.want || test.reason != "" && r.Reason != test.reason {
			t.Errorf("%s: %s: %s, want %s: %s", test.what, r.Verdict, r.Reason, test.want, test.reason)
		}
		hint := "kubectl imoocpod unpark deployment.apps/web"
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
