package cmd

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// The compiled mappings of the shipped kinds equal the declarations of their CRDs.
func TestShippedKindsAreDeclared(t *testing.T) {
	t.Parallel()
	crds, err := deploy.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	shipped := kinds.Shipped()
	for _, crd := range crds {
		declared, err := kinds.Declared(crd)
		if err != nil {
			t.Error(err)
			continue
		}
		i := slices.IndexFunc(shipped, func(k kinds.Kind) bool { return k.CRD() == crd.GetName() })
		if i < 0 {
			t.Errorf("%s is shipped, but not compiled in", crd.GetName())
			continue
		}
		compiled := shipped[i]
		shipped = slices.Delete(shipped, i, i+1)
		compiled.Mapping.Template = nil // only for objects that are older than the template field of the CRD
		if !equality.Semantic.DeepEqual(declared, compiled) {
			t.Errorf("%s is declared as\n%+v\nand compiled in as\n%+v", crd.GetName(), declared, compiled)
		}
	}
	for _, kind := range shipped {
		t.Errorf("%s is compiled in, but there is no CRD", kind.CRD())
	}
}
