package doctor

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/holder"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
)

// loops checks the running controllers, which it finds by their leases.
func (d *Doctor) loops(ctx context.Context) ([]check.Result, error) {
	loops, err := holder.List(ctx, d.client, metav1.NamespaceAll, "")
	if apierrors.IsForbidden(err) && d.Namespace != metav1.NamespaceAll {
		loops, err = holder.List(ctx, d.client, d.Namespace, "")
	}
	if apierrors.IsForbidden(err) {
		return []check.Result{{Name: "controller", State: check.Unknown, Message: "no permission to list the leases of controllers"}}, nil
	}
	if err != nil {
		return nil, err
	}
	var served []string
	for _, kind := range d.served {
		served = append(served, kind.CRD())
	}
	now := time.Now()
	return append(check.Loops(loops, served, d.Namespace, d.Version, now, d.commands), check.Declared(loops, d.declared, d.Namespace, now, d.commands)...), nil
}
