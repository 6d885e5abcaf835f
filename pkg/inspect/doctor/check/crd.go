package check

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// CRD compares the CRD on the server (have, or nil if it is missing) with the CRD that this program ships (want).
func (c Checker) CRD(kind kinds.Kind, want, have *unstructured.Unstructured) Result {
	r := Result{Name: "CRD " + want.GetName(), State: Failed, Fix: []string{c.Commands.Line(commandline.Plugin("install"))}}
	switch {
	case have == nil: // only objects of the kind need the CRD
		r.State, r.Message = Optional, fmt.Sprintf("is not installed (needed only for objects of the kind %s)", kind.Kind)
	case have.GetDeletionTimestamp() != nil:
		r.Message = "is being deleted, with all its objects"
	case !kinds.Established(have):
		r.Message = "is installed but not served: see its conditions"
		r.Fix = []string{c.Commands.Line(commandline.Kubectl("describe", "crd", want.GetName()))}
	case !equality.Semantic.DeepEqual(fieldpath.Object(want.Object, "spec")["versions"], fieldpath.Object(have.Object, "spec")["versions"]):
		r.Message = "differs from the definition of this version"
	default:
		r.State, r.Message, r.Fix = Passed, "is installed and matches this version", nil
	}
	return r
}

// Declaration returns the result for a CRD that declares a kind. err is the error in the declaration, or nil.
func (c Checker) Declaration(crd string, strategy kinds.Strategy, err error) Result {
	if err != nil {
		return Result{Name: "kind " + crd, State: Failed, Message: err.Error(), Fix: []string{c.Commands.Line(commandline.Kubectl("edit", "crd", crd))}}
	}
	return Result{Name: "kind " + crd, State: Passed, Message: "declared: plan " + string(strategy)}
}
