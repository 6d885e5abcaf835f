package cmd

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// hasStatus accepts all custom kinds, and the built-in kinds that create pods.
func TestHasStatus(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]bool{
		"deployments.v1.apps": true, "daemonsets.v1.apps": true, "jobs.v1.batch": true, "replicationcontrollers.v1.": true,
		"pods.v1.": false, "nodes.v1.": false, "services.v1.": false, "configmaps.v1.": false, "networkpolicies.v1.networking.k8s.io": false,
		"imoocpods.v1alpha1.batch.tutorial.kubebuilder.io": true, "kafkas.v1.example.com": true,
	} {
		resource, _ := schema.ParseResourceArg(word)
		if got := hasStatus(kinds.Kind{Resource: *resource}); got != want {
			t.Errorf("hasStatus(%s) = %t, want %t", word, got, want)
		}
	}
}

// printModels prints a large count as a whole number, and not in scientific notation.
func TestPrintModels(t *testing.T) {
	t.Parallel()
	p, err := printers.NewJSONPathPrinter("{.replicas.desired}")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := printModels(&out, p, []status.Report{{Replicas: status.Replicas{Desired: 1_000_000}}}, true, nil); err != nil || out.String() != "1000000" {
		t.Errorf("output %q, error %v, want 1000000", out.String(), err)
	}
}
