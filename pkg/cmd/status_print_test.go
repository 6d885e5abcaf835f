package cmd

import (
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/printers"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// Counts are whole numbers in every format, however large they are.
func TestPrintModels(t *testing.T) {
	t.Parallel()
	p, err := printers.NewJSONPathPrinter("{.replicas.desired}")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := printModels(p, &out, []status.Report{{Replicas: status.Replicas{Desired: 1_000_000}}}, true); err != nil || out.String() != "1000000" {
		t.Errorf("it prints %q, %v", out.String(), err)
	}
}
