package cmd

import (
	"context"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
)

// deployed is a controller that "install --controller" installed.
type deployed struct {
	Namespace string `json:"namespace"`
	// Version is that of the program that installed it; empty if others did.
	Version string `json:"version"`
}

// deployedControllers lists the controllers that are installed: those of all namespaces,
// or what one may see of them, which need not be any.
func deployedControllers(ctx context.Context, client dynamic.Interface, namespace string) ([]deployed, error) {
	deployments := client.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"})
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
	found := make([]deployed, 0, len(list.Items))
	for _, d := range list.Items {
		found = append(found, deployed{Namespace: d.GetNamespace(), Version: d.GetLabels()[deploy.LabelVersion]})
	}
	return found, nil
}

// warnOfSkew says which controllers are not of this program's version.
func warnOfSkew(w io.Writer, version string, found []deployed) error {
	for _, d := range found {
		if d.Version == "" || d.Version == version {
			continue
		}
		if err := escape.PrintLine(w, "Warning: the controller in namespace %s is of version %s, and this program of %s", d.Namespace, d.Version, version); err != nil {
			return err
		}
	}
	return nil
}
