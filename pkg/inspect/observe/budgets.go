package observe

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
)

// Guards is Competitors with the pods of each budget counted now, because the status of a
// budget lags behind the pods. What may not be read is in the Unread of the report.
func Guards(ctx context.Context, c *kube.Factory, t Target) (status.Report, error) {
	e, err := readGuarded(ctx, c, t)
	if err != nil || len(e.Budgets) == 0 {
		return status.NewReport(e), err
	}
	pods, err := allPods(ctx, c, t.Namespace, "")
	if err := unlessForbidden("pods", &e, err); err != nil {
		return status.Report{}, err
	}
	for i := range e.Budgets {
		selector, err := metav1.LabelSelectorAsSelector(e.Budgets[i].Spec.Selector)
		if err != nil {
			continue // it guards nothing
		}
		counted := &e.Budgets[i].Status
		counted.ExpectedPods, counted.CurrentHealthy = 0, 0
		for i := range pods {
			pod := &pods[i]
			if !problem.Live(pod) || !selector.Matches(labels.Set(pod.Labels)) {
				continue
			}
			counted.ExpectedPods++
			if ready, _ := problem.Ready(pod); ready {
				counted.CurrentHealthy++
			}
		}
	}
	return status.NewReport(e), nil
}
