package status

import (
	"slices"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/budget"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/competing"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// A report lists the owner and the autoscalers of an object, which reset its count.
func TestReverts(t *testing.T) {
	t.Parallel()
	autoscaler := func(name, apiVersion, kind, target string, low *int32) autoscalingv2.HorizontalPodAutoscaler {
		return autoscalingv2.HorizontalPodAutoscaler{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
				ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: apiVersion, Kind: kind, Name: target}, MinReplicas: low, MaxReplicas: 10,
			},
		}
	}
	owned := autoscaler("keda-hpa-web", "apps/v1beta9", "Deployment", "web", new(int32(2)))
	owned.OwnerReferences = []metav1.OwnerReference{{Kind: "ScaledObject", Name: "web", UID: "so", Controller: new(true)}}
	r := NewReport(Snapshot{
		Object: Object{Identity: Identity{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", Controller: &metav1.OwnerReference{Kind: "Store", Name: "shop"}}},
		Autoscalers: []autoscalingv2.HorizontalPodAutoscaler{
			autoscaler("other-name", "apps/v1", "Deployment", "web2", nil), autoscaler("other-kind", "apps/v1", "StatefulSet", "web", nil),
			autoscaler("no-group", "a/b/c", "Deployment", "web", nil), autoscaler("other-group", "name-clash.example.com/v1", "Deployment", "web", nil), autoscaler("web", "apps/v1", "Deployment", "web", nil), owned,
		},
		Now: lookedAt(),
	})
	var lines []string
	for _, revert := range r.Reverts {
		lines = append(lines, revert.By+": "+revert.Message)
	}
	if want := []string{
		"Store/shop: Store/shop owns it and may reset its replica count",
		"HorizontalPodAutoscaler/web: HorizontalPodAutoscaler/web keeps its replica count between 1 and 10",
		"HorizontalPodAutoscaler/keda-hpa-web: HorizontalPodAutoscaler/keda-hpa-web keeps its replica count between 2 and 10, for ScaledObject/web",
	}; !slices.Equal(lines, want) {
		t.Errorf("its number is put back by\n%q, want\n%q", lines, want)
	}
}

func TestBudgets(t *testing.T) {
	t.Parallel()
	budget := func(name, app string, low, most *intstr.IntOrString) policyv1.PodDisruptionBudget {
		return policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, MinAvailable: low, MaxUnavailable: most},
			Status:     policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 3, DesiredHealthy: 2, ExpectedPods: 4, DisruptionsAllowed: 1},
		}
	}
	pod := ownedPod("a", "it")
	pod.Labels = map[string]string{"app": "web"}
	r := NewReport(Snapshot{
		Object:  Object{Identity: Identity{UID: "it"}},
		Pods:    problem.NewPods([]corev1.Pod{pod}),
		Budgets: []policyv1.PodDisruptionBudget{budget("another's", "db", nil, nil), budget("low", "web", new(intstr.FromString("50%")), nil), budget("most", "web", nil, new(intstr.FromInt32(1))), budget("another's", "db", nil, nil)},
		Now:     lookedAt(),
	})
	var lines []string
	for _, b := range r.Budgets {
		lines = append(lines, b.String())
	}
	if want := []string{"low: at least 50%, disruptions allowed now: 1", "most: at most 1 unavailable, disruptions allowed now: 1"}; !slices.Equal(lines, want) {
		t.Errorf("the budgets are %q, want %q", lines, want)
	}
	if b := r.Budgets[0]; b.Healthy != 3 || b.Needed != 2 || b.Pods != 4 {
		t.Errorf("the budget is %+v", b)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	r := Report{
		Replicas: Replicas{Desired: 4},
		Reverts:  []competing.Writer{{By: "Set/web", Message: "Set/web controls it"}},
		bounds:   []Bound{{Path: ".spec.minSize", Value: 2}, {Path: ".spec.maxSize", Value: 6, Above: true}},
		Budgets:  []budget.Budget{{Name: "three", MinAvailable: "3"}, {Name: "half", MinAvailable: "50%"}, {Name: "most", MaxUnavailable: "1"}},
	}
	few := "PodDisruptionBudget/three requires at least 3 available pods, and only 2 would be left"
	for count, want := range map[int32][]string{
		7: {"Set/web controls it", "its controller may not use a count of 7: .spec.maxSize is 6"},
		6: {"Set/web controls it"},
		1: {"Set/web controls it", "its controller may not use a count of 1: .spec.minSize is 2", "PodDisruptionBudget/three requires at least 3 available pods, and only 1 would be left"},
		5: {"Set/web controls it"},
		3: {"Set/web controls it"},
		2: {"Set/web controls it", few},
	} {
		if got := r.Warnings(count); !slices.Equal(got, want) {
			t.Errorf("for %d: %q, want %q", count, got, want)
		}
	}
	r.Replicas.Desired, r.Reverts = 2, nil
	if got := r.Warnings(2); got != nil {
		t.Errorf("as many pods as before are no step, and it warns %q", got)
	}
	r.Replicas.Desired = 1
	if got := r.Warnings(2); got != nil {
		t.Errorf("more pods are a step towards the budget, and it warns %q", got)
	}
}

// A scale-down breaks a budget if fewer healthy pods are left than the budget requires.
func TestBreaks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what   string
		budget budget.Budget
		going  int32
		want   string
	}{
		{"enough left", budget.Budget{Name: "b", MinAvailable: "3", Healthy: 5, Pods: 5}, 2, ""},
		{"one too few", budget.Budget{Name: "b", MinAvailable: "3", Healthy: 5, Pods: 5}, 3, "PodDisruptionBudget/b requires 3 available pods, and 2 would be left"},
		{"unhealthy before", budget.Budget{Name: "b", MinAvailable: "3", Healthy: 3, Pods: 5}, 1, "PodDisruptionBudget/b requires 3 available pods, and 2 would be left"},
		{"all of one", budget.Budget{Name: "b", MinAvailable: "1", Healthy: 1, Pods: 1}, 1, "PodDisruptionBudget/b requires 1 available pod, and 0 would be left"},
		{"a share becomes smaller", budget.Budget{Name: "b", MinAvailable: "80%", Healthy: 10, Pods: 10}, 9, ""},
		{"a share of all", budget.Budget{Name: "b", MinAvailable: "80%", Healthy: 10, Pods: 10}, 10, ""},
		{"a share, some unhealthy", budget.Budget{Name: "b", MinAvailable: "80%", Healthy: 8, Pods: 10}, 5, "PodDisruptionBudget/b requires 4 available pods, and 3 would be left"},
		{"some may be away", budget.Budget{Name: "b", MaxUnavailable: "1", Healthy: 10, Pods: 10}, 9, ""},
		{"more are away", budget.Budget{Name: "b", MaxUnavailable: "1", Healthy: 8, Pods: 10}, 2, "PodDisruptionBudget/b requires 7 available pods, and 6 would be left"},
		{"a share may be away", budget.Budget{Name: "b", MaxUnavailable: "25%", Healthy: 8, Pods: 10}, 2, ""},
		{"not counted yet", budget.Budget{Name: "b", MinAvailable: "1"}, 1, "PodDisruptionBudget/b requires 1 available pod, and 0 would be left"},
		{"nonsense", budget.Budget{Name: "b", MinAvailable: "few", Healthy: 3, Needed: 3, Pods: 3}, 1, "PodDisruptionBudget/b requires 3 available pods, and 2 would be left"},
	} {
		r := Report{Budgets: []budget.Budget{{Name: "meets all", MinAvailable: "0", Healthy: 99}, test.budget}}
		if got := budget.Broken(r.Budgets, test.going); got != test.want {
			t.Errorf("%s: %q, want %q", test.what, got, test.want)
		}
	}
}
