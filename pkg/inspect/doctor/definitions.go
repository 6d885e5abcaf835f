package doctor

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// definitions looks whether the CRDs that are shipped are installed as this program
// has them.
func (d *Doctor) definitions(ctx context.Context) ([]check.Result, error) {
	crds, err := deploy.CRDs()
	if err != nil {
		return nil, err
	}
	var checks []check.Result
	for _, crd := range crds {
		have, err := d.client.Resource(kinds.CRDResource()).Get(ctx, crd.GetName(), metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			checks = append(checks, check.CRD(crd.GetName(), crd.Object, nil, d.commands))
		case apierrors.IsForbidden(err):
			checks = append(checks, check.Result{Name: "CRD " + crd.GetName(), State: check.Unknown, Message: "no permission to read"})
		case err != nil:
			return nil, err
		default:
			checks = append(checks, check.CRD(crd.GetName(), crd.Object, have.Object, d.commands))
		}
	}
	return checks, nil
}

// declarations looks at the kinds that CRDs declare beside those that are shipped. Who
// may not list CRDs has none to look at.
func (d *Doctor) declarations(ctx context.Context) ([]check.Result, error) {
	crds, err := d.client.Resource(kinds.CRDResource()).List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var checks []check.Result
	for i := range crds.Items {
		result, kind := d.checkDeclaration(&crds.Items[i])
		if result == nil {
			continue
		}
		checks = append(checks, *result)
		if result.State == check.Passed && d.inUse(ctx, kind) {
			d.declared = append(d.declared, kind.CRD())
		}
	}
	return checks, nil
}

// checkDeclaration looks at what a CRD declares: nil where that is nothing, or shipped.
func (d *Doctor) checkDeclaration(crd *unstructured.Unstructured) (*check.Result, kinds.Kind) {
	kind, err := kinds.Declared(crd)
	result := check.Result{Name: "kind " + crd.GetName(), State: check.Passed, Message: fmt.Sprintf("declared: plan %s", kind.Mapping.Strategy)}
	switch {
	case err != nil:
		result.State, result.Message, result.Fix = check.Failed, err.Error(), []string{d.commands.Line(commandline.Kubectl("edit", "crd", crd.GetName()))}
	case !kind.Reconciled() || kind.Shipped():
		return nil, kind
	}
	return &result, kind
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
