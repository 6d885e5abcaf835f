package strategy

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/objects"
)

// A node affinity that the server would reject must not remove the pods from all nodes.
func TestInvalidNodeAffinity(t *testing.T) {
	kind := kinds.Kind{Mapping: kinds.Mapping{Strategy: kinds.StrategyNodes, TemplatePath: []string{"spec", "template"}}}
	for operator, want := range map[string]string{"In": "", "in": "the node affinity is invalid: "} {
		obj := &unstructured.Unstructured{Object: objects.Parse(t, `
spec: {template: {spec: {
  containers: [{name: main, image: nginx}],
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
    {matchExpressions: [{key: disk, operator: `+operator+`, values: [ssd]}]}]}}}}}}`)}
		if got := nodes().Owner(kind, obj).Invalid; !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("operator %s: the owner is invalid because of %q, want %q", operator, got, want)
		}
	}
}
