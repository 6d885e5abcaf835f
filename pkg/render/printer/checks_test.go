package printer

import (
	"bytes"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
)

// If several checks have the same fix, only the last of these checks shows it.
func TestChecks(t *testing.T) {
	t.Parallel()
	checks := []check.Result{
		{Name: "server", State: check.Passed, Message: "v1.36.3 at https://server"},
		{Name: "CRD lamps.g", State: check.Optional, Message: "is not installed (needed only for objects of the kind Lamp)", Fix: []string{"kubectl imoocpod install"}},
		{Name: "permission to scale", State: check.Failed, Message: "alice may not patch things.g/scale", Fix: []string{"kubectl create role a", "kubectl create rolebinding a"}},
		{Name: "controller", State: check.Unknown, Message: "the leases may not be listed"},
		{Name: "CRD things.g", State: check.Optional, Message: "is not installed (needed only for objects of the kind Thing)", Fix: []string{"kubectl imoocpod install"}},
	}
	for name, style := range map[string]Style{"checks": {}, "checks-color": {Color: true}, "checks-ascii": {ASCII: true}} {
		var b bytes.Buffer
		if err := Checks(&b, checks, style); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.String())
	}
}
