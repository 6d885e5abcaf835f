package doctor

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// A CRD has a result only if it declares a kind and is not shipped. The result reports errors in the
// declaration.
func TestCheckDeclaration(t *testing.T) {
	t.Parallel()
	scaffold := kinds.Scaffold{Kind: "Foo", Group: "example.com", Plan: kinds.StrategyPods, Image: "nginx"}
	made := func(annotations map[string]string) *unstructured.Unstructured {
		crd, err := scaffold.CRD()
		if err != nil {
			t.Fatal(err)
		}
		if annotations != nil {
			crd.SetAnnotations(annotations)
		}
		return crd
	}
	if result, kind := (&Doctor{}).checkDeclaration(made(nil)); result == nil || result.State != check.Passed || !strings.Contains(result.Message, "pods") || !kind.Reconciled() {
		t.Errorf("a declared kind: %+v", result)
	}
	if result, _ := (&Doctor{}).checkDeclaration(made(map[string]string{})); result != nil {
		t.Errorf("a CRD that declares nothing: %+v", result)
	}
	if result, _ := (&Doctor{}).checkDeclaration(made(map[string]string{kinds.AnnotationPlan: "jobs"})); result == nil || result.State != check.Failed || len(result.Fix) != 1 {
		t.Errorf("a declaration that cannot be: %+v", result)
	}
	shipped := deploy.CRDs()
	for _, crd := range shipped {
		if result, _ := (&Doctor{}).checkDeclaration(crd); result != nil {
			t.Errorf("a shipped CRD: %+v", result)
		}
	}
}
