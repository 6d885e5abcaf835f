package doctor

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// definitions compares the CRDs of the server with the shipped CRDs, and sets d.served.
func (d *Doctor) definitions(ctx context.Context) ([]check.Result, error) {
	d.served = kinds.Shipped()
	var checks []check.Result
	for _, crd := range deploy.CRDs() {
		kind, _ := kinds.Declared(crd) // cannot fail for a shipped CRD
		have, err := d.Dynamic.Resource(kinds.CRDResource()).Get(ctx, crd.GetName(), metav1.GetOptions{})
		unreadable := apierrors.IsForbidden(err)
		switch {
		case apierrors.IsNotFound(err), unreadable && !d.Serves(kind):
			checks = append(checks, d.CRD(kind, crd, nil))
			d.served = slices.DeleteFunc(d.served, func(k kinds.Kind) bool { return k.Resource == kind.Resource })
		case unreadable:
			checks = append(checks, check.Result{Name: "CRD " + crd.GetName(), State: check.Unknown, Message: "no permission to read"})
		case err != nil:
			return nil, err
		default:
			checks = append(checks, d.CRD(kind, crd, have))
		}
	}
	return checks, nil
}

// declarations checks the kinds that CRDs declare in addition to the shipped kinds. It adds the
// kinds that are in use to d.declared. If the user cannot list CRDs, there are no results.
func (d *Doctor) declarations(ctx context.Context) ([]check.Result, error) {
	crds, err := d.Dynamic.Resource(kinds.CRDResource()).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, utilerrors.FilterOut(err, apierrors.IsForbidden)
	}
	var checks []check.Result
	for i := range crds.Items {
		crd := &crds.Items[i]
		kind, err := kinds.Declared(crd)
		if err == nil && (!kind.Reconciled() || kind.Shipped()) {
			continue
		}
		checks = append(checks, d.Declaration(crd.GetName(), kind.Mapping.Strategy, err))
		if err == nil && d.inUse(ctx, kind) {
			d.declared = append(d.declared, kind)
		}
	}
	return checks, nil
}

// inUse reports whether objects of a kind exist in d.Namespace. It returns false if they cannot be listed.
func (d *Doctor) inUse(ctx context.Context, kind kinds.Kind) bool {
	list, err := observe.Named(kind, d.Namespace, "").Resource(d.Dynamic).List(ctx, metav1.ListOptions{Limit: 1})
	return err == nil && len(list.Items) > 0
}
