package doctor

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// Of a CRD nothing is said that declares nothing or is shipped; another is told of,
// with what is wrong.
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
	if check, kind := checkDeclaration(made(nil)); check == nil || check.State != status.CheckPassed || !strings.Contains(check.Message, "pods") || !kind.Reconciled() {
		t.Errorf("a declared kind: %+v", check)
	}
	if check, _ := checkDeclaration(made(map[string]string{})); check != nil {
		t.Errorf("a CRD that declares nothing: %+v", check)
	}
	if check, _ := checkDeclaration(made(map[string]string{kinds.AnnotationPlan: "jobs"})); check == nil || check.State != status.CheckFailed || len(check.Fix) != 1 {
		t.Errorf("a declaration that cannot be: %+v", check)
	}
	shipped, err := deploy.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range shipped {
		if check, _ := checkDeclaration(crd); check != nil {
			t.Errorf("a shipped CRD: %+v", check)
		}
	}
}
