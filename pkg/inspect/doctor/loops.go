package doctor

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/process"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
)

// loops checks the controllers that run, which it finds by their leases.
func (d *Doctor) loops(ctx context.Context) ([]check.Result, error) {
	leases := d.client.Resource(coordinationv1.SchemeGroupVersion.WithResource("leases"))
	selected := metav1.ListOptions{LabelSelector: apis.LabelController + "=" + apis.RunController}
	list, err := leases.List(ctx, selected)
	if apierrors.IsForbidden(err) && d.Namespace != metav1.NamespaceAll {
		list, err = leases.Namespace(d.Namespace).List(ctx, selected)
	}
	if apierrors.IsForbidden(err) {
		return []check.Result{{Name: "controller", State: check.Unknown, Message: "no permission to list the leases of controllers"}}, nil
	}
	if err != nil {
		return nil, err
	}
	var loops []leaserecord.Loop
	for i := range list.Items {
		var lease coordinationv1.Lease
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &lease); err != nil {
			return nil, fmt.Errorf("read the lease %s: %w", list.Items[i].GetName(), err)
		}
		loops = append(loops, process.LoopOf(&lease))
	}
	var served []string
	for _, kind := range d.served {
		served = append(served, kind.CRD())
	}
	now := time.Now()
	return append(check.Loops(loops, served, d.Namespace, d.Version, now, d.commands), check.Declared(loops, d.declared, d.Namespace, now, d.commands)...), nil
}
