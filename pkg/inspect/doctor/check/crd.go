package check

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// CRD holds a CRD of the server, nil if it is not there, against the one
// that the program carries.
func CRD(name string, want, have map[string]any, commands commandline.Context) Result {
	c := Result{Name: "CRD " + name, State: Failed, Fix: []string{commands.Line(commandline.Plugin("install"))}}
	switch {
	case have == nil:
		c.Message = "is not installed"
	case fieldOf(have, "metadata", "deletionTimestamp") != nil:
		c.Message = "is being deleted, with all its objects"
	case !kinds.Established(&unstructured.Unstructured{Object: have}):
		c.Message = "is installed but not served: see its conditions"
		c.Fix = []string{commands.Line(commandline.Kubectl("describe", "crd", name))}
	case !sameJSON(fieldOf(want, "spec", "versions"), fieldOf(have, "spec", "versions")):
		c.Message = "differs from the definition of this version"
	default:
		c = Result{Name: c.Name, State: Passed, Message: "is installed and matches this version"}
	}
	return c
}

func fieldOf(obj map[string]any, path ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(obj, path...) // what is of another type is not there
	return value
}

// sameJSON compares values of which one was read from YAML, so that its numbers
// are of another type.
func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
