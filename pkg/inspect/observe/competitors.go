package observe

import (
	"cmp"
	"context"
	"sync"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
)

// ReadNamed is Read for an object that was named: who will put the number of its pods
// back, and who guards them, is read too.
func ReadNamed(ctx context.Context, c *kube.Factory, t Target) (status.Snapshot, Target, error) {
	return withCompetitors(ctx, c, t, Read)
}

// Competitors reads what a change of the count may meet, and no more.
func Competitors(ctx context.Context, c *kube.Factory, t Target) (status.Report, error) {
	e, err := readGuarded(ctx, c, t)
	return status.NewReport(e), err
}

// readGuarded reads a target, unless that was done, and what a change of the count may
// meet. What stands below the target is read only if there are budgets, which may guard its
// pods, and unless its pods may not be read.
func readGuarded(ctx context.Context, c *kube.Factory, t Target) (status.Snapshot, error) {
	e, t, err := withCompetitors(ctx, c, t, readAlone)
	if err != nil || len(e.Budgets) == 0 {
		return e, err
	}
	err = readTree(ctx, c, t, &e)
	return e, unlessForbidden("pods", &e, err)
}

// withCompetitors adds to a snapshot of a target who will put the number of pods back,
// and who guards the pods. They are read at the same time as the snapshot.
func withCompetitors(ctx context.Context, c *kube.Factory, t Target, read func(context.Context, *kube.Factory, Target) (status.Snapshot, Target, error)) (status.Snapshot, Target, error) {
	var reading sync.WaitGroup
	defer reading.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var found status.Snapshot
	var foundErr error
	namespace := t.Namespace // read below assigns t
	reading.Go(func() { foundErr = readCompetitors(ctx, c, namespace, &found) })
	e, t, err := read(ctx, c, t)
	if err != nil {
		return e, t, err
	}
	reading.Wait()
	e.Autoscalers, e.Budgets, e.Unread = found.Autoscalers, found.Budgets, append(e.Unread, found.Unread...)
	return e, t, foundErr
}

// readCompetitors reads the autoscalers and the disruption budgets of a namespace into a
// snapshot, both at the same time.
func readCompetitors(ctx context.Context, c *kube.Factory, namespace string, e *status.Snapshot) error {
	client, err := c.Dynamic()
	if err != nil {
		return err
	}
	var reading sync.WaitGroup
	var autoscalersErr, budgetsErr error
	reading.Go(func() {
		e.Autoscalers, autoscalersErr = listAs[autoscalingv2.HorizontalPodAutoscaler](ctx, client, autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers"), namespace, "")
	})
	reading.Go(func() {
		e.Budgets, budgetsErr = listAs[policyv1.PodDisruptionBudget](ctx, client, policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"), namespace, "")
	})
	reading.Wait()
	return cmp.Or(unlessForbidden("horizontalpodautoscalers", e, autoscalersErr), unlessForbidden("poddisruptionbudgets", e, budgetsErr))
}
