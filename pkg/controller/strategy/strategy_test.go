package strategy

import (
	"slices"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// A strategy is implemented if and only if a CRD can declare it.
func TestEveryStrategyIsImplemented(t *testing.T) {
	all := All()
	for _, name := range kinds.Strategies() {
		if all[name] == nil {
			t.Errorf("%s can be declared, and is not here", name)
		}
	}
	for name, s := range all {
		if s.Plan == nil || s.complete == nil {
			t.Errorf("%s is incomplete: %+v", name, *s)
		}
		if !slices.Contains(kinds.Strategies(), name) {
			t.Errorf("%s cannot be declared", name)
		}
		if s.PodIndex == "" && s.Input == nil {
			t.Errorf("the plans of %s read nothing", name)
		}
		if (s.Input == nil) != (s.read == nil) {
			t.Errorf("%s watches what its plans do not read, or the reverse", name)
		}
	}
}
