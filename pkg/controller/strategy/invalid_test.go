package strategy

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
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

// A Deployment name that the server would reject, or that changes the URL of a request, is invalid.
func TestInvalidDeploymentName(t *testing.T) {
	kind := kinds.Kind{Mapping: kinds.Mapping{DeploymentNamePath: []string{"spec", "name"}}}
	for name, valid := range map[string]bool{"web": true, "": true, "A_B": false, "a/b": false, "..": false} {
		o := plan.Owner{Name: "foo", Problem: "no template"}
		completeDeployment(&o, kind, &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"name": name}}}, nil)
		if (o.Invalid == "") != valid {
			t.Errorf("name %q: invalid because of %q, want valid: %t", name, o.Invalid, valid)
		}
	}
}
