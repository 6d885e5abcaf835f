package observe

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// addCompetitors adds the autoscalers and disruption budgets if the extent includes them. If there are budgets and the
// depth is Alone, it also adds the pods. unread lists autoscalers or budgets if the user is not allowed to read them.
func (m *model) addCompetitors(ctx context.Context, s *status.Snapshot) (unread []string, err error) {
	if !m.extent.Competitors {
		return nil, nil
	}
	if m.competitors == nil {
		var found status.Snapshot
		if err := readCompetitors(ctx, m.Dynamic, m.target.Namespace, &found); err != nil {
			return nil, err
		}
		m.competitors = &found
	}
	s.Autoscalers, s.Budgets = m.competitors.Autoscalers, m.competitors.Budgets
	if len(s.Budgets) > 0 && m.extent.Depth < Below {
		err = unlessUnavailable("pods", s, m.addTree(ctx, s))
	}
	if err == nil && len(s.Budgets) > 0 && m.extent.Recount {
		err = m.addNeighbors(ctx, s)
	}
	return m.competitors.Unread, err
}

func readCompetitors(ctx context.Context, client dynamic.Interface, namespace string, s *status.Snapshot) error {
	var reading sync.WaitGroup
	var autoscalersErr, budgetsErr error
	reading.Go(func() {
		s.Autoscalers, autoscalersErr = listAs[autoscalingv2.HorizontalPodAutoscaler](ctx, client, autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers"), namespace)
	})
	reading.Go(func() {
		s.Budgets, budgetsErr = listAs[policyv1.PodDisruptionBudget](ctx, client, policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"), namespace)
	})
	reading.Wait()
	return cmp.Or(unlessUnavailable("horizontalpodautoscalers", s, autoscalersErr), unlessUnavailable("poddisruptionbudgets", s, budgetsErr))
}

func listAs[T any](ctx context.Context, client dynamic.Interface, resource schema.GroupVersionResource, namespace string) ([]T, error) {
	items, err := follow.List(ctx, client.Resource(resource).Namespace(namespace), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	all := make([]T, len(items))
	for i, obj := range items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// addNeighbors adds all pods in the namespace.
func (m *model) addNeighbors(ctx context.Context, s *status.Snapshot) error {
	pods, err := contents(ctx, m, m.Pods(m.target.Namespace, ""))
	if err != nil {
		return unlessUnavailable("pods", s, err)
	}
	s.Neighbors = slices.Concat(slices.Collect(maps.Values(pods.Of))...)
	return nil
}
