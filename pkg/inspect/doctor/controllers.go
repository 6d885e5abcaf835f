package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/holder"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// controllers checks the versions and the available pods of the installed controllers.
func (d *Doctor) controllers(ctx context.Context) ([]check.Result, error) {
	found, err := Controllers(ctx, d.Dynamic, d.Namespace)
	if err != nil {
		return nil, err
	}
	checks := make([]check.Result, 0, len(found))
	for _, c := range found {
		checks = append(checks, d.Deployed(c))
	}
	return checks, nil
}

// loops checks the running controllers, which it finds by their leases.
func (d *Doctor) loops(ctx context.Context) ([]check.Result, error) {
	loops, err := holder.List(ctx, d.Leases.Leases(metav1.NamespaceAll), "")
	if apierrors.IsForbidden(err) && d.Namespace != metav1.NamespaceAll {
		err = nil
		for _, namespace := range slices.Compact([]string{d.Namespace, apis.LeaseNamespaceForAll}) {
			found, hidden := holder.List(ctx, d.Leases.Leases(namespace), "")
			loops, err = append(loops, found...), cmp.Or(err, hidden)
		}
	}
	switch {
	case apierrors.IsForbidden(err) && len(loops) > 0: // the loops of one namespace are better than none
	case apierrors.IsForbidden(err):
		return []check.Result{{Name: "controller", State: check.Unknown, Message: "no permission to list the leases of controllers"}}, nil
	case err != nil:
		return nil, err
	}
	now := time.Now()
	return append(d.Loops(loops, kinds.CRDs(d.served), now), d.Declared(loops, kinds.CRDs(d.declared), now)...), nil
}

// Controllers returns the controllers in all namespaces. If the user cannot list them, it returns the
// controllers in the given namespace, or nil if the user cannot list these either.
func Controllers(ctx context.Context, client dynamic.Interface, namespace string) ([]check.Deployment, error) {
	deployments := client.Resource(appsv1.SchemeGroupVersion.WithResource("deployments"))
	opts := metav1.ListOptions{LabelSelector: deploy.ControllerLabel}
	list, err := deployments.List(ctx, opts)
	if apierrors.IsForbidden(err) {
		list, err = deployments.Namespace(namespace).List(ctx, opts)
	}
	if apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for controllers: %w", err)
	}
	found := make([]check.Deployment, 0, len(list.Items))
	for _, item := range list.Items {
		var d appsv1.Deployment
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &d); err != nil {
			return nil, fmt.Errorf("look for controllers: %w", err)
		}
		found = append(found, check.Deployment{
			Namespace: d.Namespace, Name: d.Name, Version: d.Labels[deploy.LabelVersion],
			Desired: ptr.Deref(d.Spec.Replicas, 1), Available: d.Status.AvailableReplicas,
			Everywhere: slices.ContainsFunc(d.Spec.Template.Spec.Containers, func(c corev1.Container) bool { return slices.Contains(c.Args, "--all-namespaces") }),
		})
	}
	return found, nil
}
