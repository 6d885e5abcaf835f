package doctor

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// definitions looks whether the CRDs that are shipped are installed as this program
// has them.
func (d *Doctor) definitions(ctx context.Context) ([]status.Check, error) {
	crds, err := deploy.CRDs()
	if err != nil {
		return nil, err
	}
	var checks []status.Check
	for _, crd := range crds {
		have, err := d.client.Resource(kinds.CRDResource()).Get(ctx, crd.GetName(), metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			checks = append(checks, status.CheckCRD(crd.GetName(), crd.Object, nil))
		case apierrors.IsForbidden(err):
			checks = append(checks, status.Check{Name: "CRD " + crd.GetName(), State: status.CheckUnknown, Message: "no permission to read"})
		case err != nil:
			return nil, err
		default:
			checks = append(checks, status.CheckCRD(crd.GetName(), crd.Object, have.Object))
		}
	}
	return checks, nil
}

// declarations looks at the kinds that CRDs declare beside those that are shipped. Who
// may not list CRDs has none to look at.
func (d *Doctor) declarations(ctx context.Context) ([]status.Check, error) {
	crds, err := d.client.Resource(kinds.CRDResource()).List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var checks []status.Check
	for i := range crds.Items {
		check, kind := checkDeclaration(&crds.Items[i])
		if check == nil {
			continue
		}
		checks = append(checks, *check)
		if check.State == status.CheckPassed && d.inUse(ctx, kind) {
			d.declared = append(d.declared, kind.CRD())
		}
	}
	return checks, nil
}

// checkDeclaration looks at what a CRD declares: nil where that is nothing, or shipped.
func checkDeclaration(crd *unstructured.Unstructured) (*status.Check, kinds.Kind) {
	kind, err := kinds.Declared(crd)
	check := status.Check{Name: "kind " + crd.GetName(), State: status.CheckPassed, Message: fmt.Sprintf("declared: plan %s", kind.Mapping.Strategy)}
	switch {
	case err != nil:
		check.State, check.Message, check.Fix = status.CheckFailed, err.Error(), []string{"kubectl edit crd " + crd.GetName()}
	case !kind.Reconciled() || kind.Shipped():
		return nil, kind
	}
	return &check, kind
}

// inUse reports whether there are objects of a kind. Who may not list them has none.
func (d *Doctor) inUse(ctx context.Context, kind kinds.Kind) bool {
	in := d.Namespace
	if kind.Clusterwide {
		in = metav1.NamespaceAll
	}
	list, err := d.client.Resource(kind.Resource).Namespace(in).List(ctx, metav1.ListOptions{Limit: 1})
	return err == nil && len(list.Items) > 0
}
