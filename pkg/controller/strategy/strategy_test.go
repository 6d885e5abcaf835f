package strategy

import (
	"slices"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// All has exactly the strategies that a CRD can declare.
func TestEveryStrategyIsImplemented(t *testing.T) {
	all := All()
	for _, name := range kinds.Strategies() {
		if all[name] == nil {
			t.Errorf("All lacks strategy %s, which a CRD can declare", name)
		}
	}
	for name, s := range all {
		if s.Plan == nil || s.complete == nil {
			t.Errorf("strategy %s lacks Plan or complete: %+v", name, *s)
		}
		if !slices.Contains(kinds.Strategies(), name) {
			t.Errorf("All has strategy %s, which no CRD can declare", name)
		}
		if s.PodIndex == "" && s.Input == nil {
			t.Errorf("strategy %s has neither PodIndex nor Input", name)
		}
		if (s.Input == nil) != (s.Read == nil) {
			t.Errorf("strategy %s has only one of Input and Read", name)
		}
	}
}
