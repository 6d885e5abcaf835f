package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// DeclaredKinds are the kinds that CRDs of the cluster declare, without those that this
// program ships: none for users who may not list CRDs. Of other CRDs only the metadata
// is read.
func (c *Factory) DeclaredKinds(ctx context.Context) ([]kinds.Kind, error) {
	client, err := clientOf(c, metadata.NewForConfig)
	if err != nil {
		return nil, err
	}
	list, err := client.Resource(kinds.CRDResource()).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the CRDs: %w", err)
	}
	objects, err := c.Dynamic()
	if err != nil {
		return nil, err
	}
	var declared []kinds.Kind
	for i := range list.Items {
		if list.Items[i].Annotations[kinds.AnnotationPlan] == "" {
			continue
		}
		crd, err := objects.Resource(kinds.CRDResource()).Get(ctx, list.Items[i].Name, metav1.GetOptions{})
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the CRD %s: %w", list.Items[i].Name, err)
		}
		// "kinds" and "check" report a declaration that is wrong.
		if kind, err := kinds.Declared(crd); err == nil && kind.Reconciled() && !kind.Shipped() {
			declared = append(declared, kind)
		}
	}
	return declared, nil
}
