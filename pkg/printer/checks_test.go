package printer

import (
	"bytes"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

func TestChecks(t *testing.T) {
	t.Parallel()
	checks := []status.Check{
		{Name: "server", State: status.CheckPassed, Message: "v1.36.3 at https://server"},
		{Name: "permission to scale", State: status.CheckFailed, Message: "alice may not patch things.g/scale", Fix: []string{"kubectl create role a", "kubectl create rolebinding a"}},
		{Name: "controller", State: status.CheckUnknown, Message: "the leases may not be listed"},
	}
	for name, style := range map[string]Style{"checks": {}, "checks-color": {Color: true}, "checks-ascii": {ASCII: true}} {
		var b bytes.Buffer
		if err := Checks(&b, checks, style); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.String())
	}
}
