package observe

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

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
		for _, pod := range pods {
			if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || !selector.Matches(labels.Set(pod.Labels)) {
				continue
			}
			counted.ExpectedPods++
			if slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
			}) {
				counted.CurrentHealthy++
			}
		}
	}
	return status.NewReport(e), nil
}
