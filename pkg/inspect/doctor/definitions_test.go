package doctor

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

// A CRD has a result only if it declares a kind and is not shipped. The result reports errors in the
// declaration. A kind is in use only if it has objects.
func TestDeclarations(t *testing.T) {
	t.Parallel()
	s := apiserver.New(t)
	s.CreateCRDs() // the shipped CRDs
	for kind, annotations := range map[string]map[string]string{
		"Used": nil, "Unused": nil, "Undeclared": {}, "Wrong": {kinds.AnnotationPlan: "jobs"},
	} {
		crd, err := kinds.Scaffold{Kind: kind, Group: "example.com", Plan: kinds.StrategyPods, Image: "nginx"}.CRD()
		if err != nil {
			t.Fatal(err)
		}
		if annotations != nil {
			crd.SetAnnotations(annotations)
		}
		s.Create(crd)
	}
	for _, kind := range []string{"Used", "Undeclared"} {
		s.Create(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1alpha1", "kind": kind, "metadata": map[string]any{"namespace": "default", "name": "foo"},
		}})
	}
	client, err := dynamic.NewForConfig(s.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	d := &Doctor{Clients: &kube.Clients{Dynamic: client}, Checker: check.Checker{Namespace: "default"}}
	checks, err := d.declarations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range checks {
		got = append(got, strings.Join(append([]string{r.Name, string(r.State)}, r.Fix...), ", "))
		if (r.State == check.Passed) != (r.Message == "declared: plan pods") {
			t.Errorf("%s: unexpected message %q", r.Name, r.Message)
		}
	}
	want := []string{"kind unuseds.example.com, passed", "kind useds.example.com, passed", "kind wrongs.example.com, failed, kubectl edit crd wrongs.example.com"}
	if !slices.Equal(got, want) {
		t.Errorf("results = %q, want %q", got, want)
	}
	if want := []string{"useds.example.com"}; !slices.Equal(kinds.CRDs(d.declared), want) {
		t.Errorf("kinds with objects = %q, want %q", kinds.CRDs(d.declared), want)
	}
}
