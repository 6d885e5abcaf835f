// Package check says of what was found in a cluster whether it is in place, and which
// command would put it there. Package doctor looks.
package check

import (
	"fmt"

	utilversion "k8s.io/apimachinery/pkg/util/version"
)

// Result is one thing that must be in place for the program to work on a cluster.
type Result struct {
	// Name says what was looked at, in a few words.
	Name string `json:"name"`
	// State is how it was found.
	State State `json:"state"`
	// Message says what was found.
	Message string `json:"message"`
	// Fix are commands that would put it in place; whoever runs them may need more
	// rights.
	Fix []string `json:"fix,omitempty"`
}

// State is how a check came out.
type State string

// The states of a check.
const (
	// Passed: it is in place.
	Passed State = "passed"
	// Failed: it is not.
	Failed State = "failed"
	// Unknown: it could not be looked at, mostly for want of rights.
	Unknown State = "unknown"
)

// oldestServer is the first version in which the rules of the CRDs (CEL) are
// not a beta that may be off: an older one would let through what they refuse.
const oldestServer = "1.29"

// Server looks at the version that a server tells of itself.
func Server(version, host string) Result {
	c := Result{Name: "server", State: Passed, Message: version + " at " + host}
	v, err := utilversion.ParseGeneric(version)
	if err != nil {
		c.State, c.Message = Unknown, fmt.Sprintf("its version %q cannot be read", version)
	} else if v.LessThan(utilversion.MustParseGeneric(oldestServer)) {
		c.State, c.Message = Failed, fmt.Sprintf("%s is too old: %s or newer is needed", c.Message, oldestServer)
	}
	return c
}
