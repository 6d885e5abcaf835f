package discover

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// /scale can be read and patched. resourceVersion is an optional precondition.
func TestScale(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	answer := parse(t, "{apiVersion: autoscaling/v1, kind: Scale, metadata: {name: x, namespace: ns}, spec: {replicas: 3}, status: {replicas: 2, selector: app=x}}")
	var last clienttesting.Action
	s.dynamic.PrependReactor("*", "sets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		last = action
		return true, answer, nil
	})
	sets := s.dynamic.Resource(set().Resource).Namespace("ns")
	scale, err := GetScale(t.Context(), sets, "x")
	if err != nil || scale.Spec.Replicas != 3 || scale.Status.Replicas != 2 || scale.Status.Selector != "app=x" || last.GetSubresource() != "scale" {
		t.Errorf("read: %+v, %v", scale, err)
	}
	for version, want := range map[string]string{"": `{"spec":{"replicas":3}}`, "7": `{"metadata":{"resourceVersion":"7"},"spec":{"replicas":3}}`} {
		scale, err := SetScale(t.Context(), sets, "x", 3, version, []string{metav1.DryRunAll})
		patch, is := last.(clienttesting.PatchActionImpl)
		if err != nil || !is || scale.Spec.Replicas != 3 || string(patch.Patch) != want || last.GetSubresource() != "scale" {
			t.Errorf("set at version %q: %+v by %s, %v", version, scale, patch.Patch, err)
		}
		if options := patch.PatchOptions; options.FieldManager != kinds.FieldManager || !slices.Equal(options.DryRun, []string{metav1.DryRunAll}) {
			t.Errorf("the options are %+v", options)
		}
	}
	answer = parse(t, "{apiVersion: autoscaling/v1, kind: Scale, spec: {replicas: many}}")
	if _, err := GetScale(t.Context(), sets, "x"); err == nil {
		t.Error("a count that is a word can be read")
	}
	if _, err := SetScale(t.Context(), sets, "x", 3, "", nil); err == nil {
		t.Error("a count that is a word can be set")
	}
}
