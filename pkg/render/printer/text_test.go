package printer

import (
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// counts returns "unknown" instead of a number if the desired count is unknown.
func TestCounts(t *testing.T) {
	t.Parallel()
	for want, replicas := range map[string]status.Replicas{
		"desired unknown, current 0, ready 0":      {Unknown: true},
		"desired 3, current 2, ready 1":            {Desired: 3, Current: 2, Ready: 1},
		"desired 3, current 3, ready 3, updated 1": {Desired: 3, Current: 3, Ready: 3, Updated: new(int32(1))},
	} {
		if got := counts(replicas); got != want {
			t.Errorf("%+v: %q, want %q", replicas, got, want)
		}
	}
}
