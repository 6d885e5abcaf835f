package observe

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// No server is asked about a built-in kind.
func TestStatusFactsOfABuiltInKind(t *testing.T) {
	t.Parallel()
	apps := schema.GroupVersion{Group: "apps", Version: "v1"}
	kind := kinds.KindOf(&meta.RESTMapping{Resource: apps.WithResource("deployments"), GroupVersionKind: apps.WithKind("Deployment"), Scope: meta.RESTScopeNamespace})
	if facts, err := StatusFacts(t.Context(), nil, kind, nil); err != nil || facts.Count != ".spec.replicas" {
		t.Errorf("they are %+v, %v", facts, err)
	}
}
