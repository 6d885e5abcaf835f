// Package check evaluates the data that package doctor reads from a cluster, and suggests fixes. It makes no requests.
package check

import (
	"fmt"

	utilversion "k8s.io/apimachinery/pkg/util/version"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
)

// Result is the result of one check.
type Result struct {
	// Name identifies the check in a few words.
	Name  string `json:"name"`
	State State  `json:"state"`
	// Message describes the result.
	Message string `json:"message"`
	// Fix lists commands that solve or explain the problem. The user might lack the permissions to run them.
	Fix []string `json:"fix,omitempty"`
}

// State is the outcome of a check.
type State string

// The outcomes of a check.
const (
	Passed   State = "passed"   // there is no problem
	Failed   State = "failed"   // something is missing or broken
	Optional State = "optional" // something is missing, but nothing in the cluster needs it
	Unknown  State = "unknown"  // there is no clear result, usually because a permission is missing
)

// Checker evaluates the data for a user, in a namespace or, if Namespace is empty, in all namespaces.
type Checker struct {
	User, Namespace string
	Version         string              // the version of this program
	Commands        commandline.Context // formats the commands that fix problems
}

// oldestServer is the first version that always enforces the validation rules in the CRDs. Older
// servers can admit invalid objects.
const oldestServer = "1.29"

// The oldest and the newest version of Kubernetes that the tests run against.
const (
	OldestTested = "1.30"
	NewestTested = "1.37"
)

// MissingNamespace returns the result if the namespace does not exist.
func (c Checker) MissingNamespace() Result {
	return Result{Name: "namespace", State: Failed, Message: c.Namespace + " does not exist", Fix: []string{c.Commands.Line(commandline.Kubectl("create", "namespace", c.Namespace))}}
}

// Server checks whether the version of a server is supported and tested.
func Server(version, host string) Result {
	r := Result{Name: "server", State: Passed, Message: version + " at " + host}
	v, err := utilversion.ParseGeneric(version)
	if err != nil {
		r.State, r.Message = Unknown, fmt.Sprintf("its version %q cannot be read", version)
		return r
	}
	minor := utilversion.MajorMinor(v.Major(), v.Minor())
	switch {
	case minor.LessThan(utilversion.MustParseGeneric(oldestServer)):
		r.State, r.Message = Failed, fmt.Sprintf("%s is too old: %s or newer is needed", r.Message, oldestServer)
	case minor.LessThan(utilversion.MustParseGeneric(OldestTested)), minor.GreaterThan(utilversion.MustParseGeneric(NewestTested)):
		r.State, r.Message = Unknown, fmt.Sprintf("%s is not tested: the tests run against %s to %s", r.Message, OldestTested, NewestTested)
	}
	return r
}
