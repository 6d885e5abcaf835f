package doctor

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
)

// controllers checks the versions and the available pods of the installed controllers.
func (d *Doctor) controllers(ctx context.Context) ([]check.Result, error) {
	found, err := Controllers(ctx, d.client, d.Namespace)
	if err != nil {
		return nil, err
	}
	checks := make([]check.Result, 0, len(found))
	for _, c := range found {
		checks = append(checks, check.Deployed(c.Namespace, c.Version, d.Version, c.Desired, c.Available, d.commands))
	}
	return checks, nil
}

// Controller is a controller that "install --controller" installed.
type Controller struct {
	Namespace string `json:"namespace"`
	// Version is the version of this program that installed the controller, or "" if the Deployment
	// has no version label.
	Version string `json:"version"`
	// Desired is the number of desired pods, and Available is the number of available pods.
	Desired   int64 `json:"-"`
	Available int64 `json:"-"`
}

// Controllers returns the controllers in all namespaces. If the user is not allowed to list them,
// it returns the controllers in the given namespace, or nil if listing these is forbidden, too.
func Controllers(ctx context.Context, client dynamic.Interface, namespace string) ([]Controller, error) {
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
	found := make([]Controller, 0, len(list.Items))
	for _, d := range list.Items {
		c := Controller{Namespace: d.GetNamespace(), Version: d.GetLabels()[deploy.LabelVersion]}
		c.Desired, _, _ = unstructured.NestedInt64(d.Object, "spec", "replicas")
		c.Available, _, _ = unstructured.NestedInt64(d.Object, "status", "availableReplicas")
		found = append(found, c)
	}
	return found, nil
}
