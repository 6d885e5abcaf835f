package discover

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

// GetScale reads /scale, and SetScale patches it. resourceVersion is an optional precondition.
func TestScale(t *testing.T) {
	t.Parallel()
	s := newServer(t, crd("{}", "{status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.replicas}}"))
	x := s.Create(parse(t, `{apiVersion: example.com/v1, kind: Set, metadata: {name: x, namespace: ns}, spec: {size: 3},
		status: {replicas: 2}}`))
	sets := s.dynamic.Resource(set().Resource).Namespace("ns")
	scale, err := GetScale(t.Context(), sets, "x")
	if err != nil || scale.Spec.Replicas != 3 || scale.Status.Replicas != 2 {
		t.Errorf("GetScale = %+v, %v", scale, err)
	}
	for version, want := range map[string]string{
		"":                     `{"spec":{"replicas":4}}`,
		x.GetResourceVersion(): `{"metadata":{"resourceVersion":"` + x.GetResourceVersion() + `"},"spec":{"replicas":4}}`,
	} {
		s.Forget()
		scale, err := SetScale(t.Context(), sets, "x", 4, version, []string{metav1.DryRunAll})
		patches := s.Requests(apiserver.On("patch", "sets/scale"))
		if err != nil || scale.Spec.Replicas != 4 || len(patches) != 1 || string(patches[0].Body) != want {
			t.Fatalf("SetScale at version %q = %+v, %v by the patches %+v, want the patch %s", version, scale, err, patches, want)
		}
		query := patches[0].Query
		if query.Get("fieldManager") != kinds.FieldManager || !slices.Equal(query["dryRun"], []string{metav1.DryRunAll}) {
			t.Errorf("patch options = %v, want the field manager and a dry run", query)
		}
	}
	if _, err := toScale(parse(t, "spec: {replicas: many}"), nil); err == nil {
		t.Error("toScale accepted a count that is a string")
	}
}
