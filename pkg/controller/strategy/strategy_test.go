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
			t.Errorf("strategy %s can be declared, but is not implemented", name)
		}
	}
	for name, s := range all {
		if s.Plan == nil || s.complete == nil {
			t.Errorf("strategy %s lacks Plan or complete: %+v", name, *s)
		}
		if !slices.Contains(kinds.Strategies(), name) {
			t.Errorf("strategy %s is implemented, but cannot be declared", name)
		}
		if s.PodIndex == "" && s.Input == nil {
			t.Errorf("strategy %s has neither PodIndex nor Input", name)
		}
		if (s.Input == nil) != (s.read == nil) {
			t.Errorf("strategy %s has only one of Input and read", name)
		}
	}
}
