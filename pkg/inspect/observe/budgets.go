package observe

import (
	"context"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// recount recounts the pods of each budget, because the status of a budget lags behind the
// pods.
func (m *model) recount(ctx context.Context, e *status.Snapshot) error {
	f := m.pods(m.target.Namespace, "")
	m.await(ctx, f)
	pods, _, err := f.All(ctx)
	if err != nil {
		return unlessForbidden("pods", e, err)
	}
	for i := range e.Budgets {
		recountBudget(&e.Budgets[i], pods)
	}
	return nil
}

// recountBudget counts the live pods that a budget selects, and those that are ready.
func recountBudget(b *policyv1.PodDisruptionBudget, pods status.Pods) {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		return // it guards nothing
	}
	b.Status.ExpectedPods, b.Status.CurrentHealthy = 0, 0
	for _, pod := range pods.Objects() {
		if !problem.Live(pod) || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		b.Status.ExpectedPods++
		if ready, _ := problem.Ready(pod); ready {
			b.Status.CurrentHealthy++
		}
	}
}
