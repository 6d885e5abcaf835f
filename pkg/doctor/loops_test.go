package doctor

import (
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// A controller of which no pod runs fails its check, whatever its version is.
func TestCheckAvailable(t *testing.T) {
	t.Parallel()
	passed := status.CheckDeployed("ns", "v1.0.0", "v1.0.0")
	for name, test := range map[string]struct {
		controller Controller
		want       status.CheckState
	}{
		"all run":        {Controller{Desired: 2, Available: 2}, status.CheckPassed},
		"one runs":       {Controller{Desired: 2, Available: 1}, status.CheckPassed},
		"none runs":      {Controller{Namespace: "ns", Desired: 2}, status.CheckFailed},
		"scaled to zero": {Controller{}, status.CheckPassed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check := checkAvailable(passed, test.controller)
			if check.State != test.want {
				t.Errorf("%+v", check)
			}
			if failed := check.State == status.CheckFailed; failed != strings.Contains(strings.Join(check.Fix, "\n"), "status deployment/imoocpod-controller -n ns") {
				t.Errorf("the fix is %q", check.Fix)
			}
		})
	}
}
