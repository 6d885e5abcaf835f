package strategy

import (
	"slices"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// Each strategy that a CRD may declare is here, and no other.
func TestEveryStrategyIsImplemented(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range all {
		if !slices.Contains(kinds.Strategies(), name) {
			t.Errorf("%s cannot be declared", name)
		}
		if s.PodIndex == "" && s.Beside == nil {
			t.Errorf("the plans of %s look at nothing", name)
		}
		if b := s.Beside; b != nil && (b.Source == nil || b.Differs == nil || b.Why == nil || b.Concerns == nil || b.read == nil) {
			t.Errorf("what the plans of %s look at beside pods is incomplete: %+v", name, *b)
		}
	}
}
