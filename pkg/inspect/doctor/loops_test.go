package doctor

import (
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
)

// A controller of which no pod runs fails its check, whatever its version is.
func TestCheckAvailable(t *testing.T) {
	t.Parallel()
	passed := check.Deployed("ns", "v1.0.0", "v1.0.0", nil)
	for name, test := range map[string]struct {
		controller Controller
		want       check.State
	}{
		"all run":        {Controller{Desired: 2, Available: 2}, check.Passed},
		"one runs":       {Controller{Desired: 2, Available: 1}, check.Passed},
		"none runs":      {Controller{Namespace: "ns", Desired: 2}, check.Failed},
		"scaled to zero": {Controller{}, check.Passed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := (&Doctor{}).checkAvailable(passed, test.controller)
			if result.State != test.want {
				t.Errorf("%+v", result)
			}
			if failed := result.State == check.Failed; failed != strings.Contains(strings.Join(result.Fix, "\n"), "status deployment/imoocpod-controller -n ns") {
				t.Errorf("the fix is %q", result.Fix)
			}
		})
	}
}
