package replica

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestDesired(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec map[string]any
		want int32
	}{
		"a count":             {map[string]any{"replicas": int64(3)}, 3},
		"none":                {map[string]any{"replicas": int64(0)}, 0},
		"no count":            {map[string]any{}, 1},
		"no spec":             {nil, 1},
		"null":                {map[string]any{"replicas": nil}, 1},
		"the most there is":   {map[string]any{"replicas": int64(2147483647)}, 2147483647},
		"no number (old CRD)": {map[string]any{"replicas": "3"}, 1},
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		if test.spec != nil {
			obj.Object["spec"] = test.spec
		}
		if got := ImoocPod().Desired(obj); got != test.want {
			t.Errorf("%s: %d replicas are wanted, want %d", name, got, test.want)
		}
	}
}

func TestFacts(t *testing.T) {
	t.Parallel()
	obj := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "ns", "name": "foo", "uid": "u", "generation": int64(4), "deletionTimestamp": "2026-01-02T03:04:05Z"},
		"spec":     map[string]any{"replicas": int64(3)},
		"status": map[string]any{
			"observedGeneration": int64(3), "replicas": int64(2), "readyReplicas": int64(1),
			"conditions": []any{map[string]any{"type": "Ready", "status": "False"}},
		},
	}}
	facts, err := ImoocPod().Facts(obj)
	if err != nil {
		t.Fatal(err)
	}
	if facts.Type != "imoocpod.batch.tutorial.kubebuilder.io" || facts.Namespace != "ns" || facts.Name != "foo" || facts.UID != "u" || !facts.Deleting ||
		facts.Generation != 4 || facts.ObservedGeneration != 3 || facts.Desired != 3 || facts.Current != 2 || facts.Ready != 1 || len(facts.Conditions) != 1 {
		t.Errorf("got %+v", facts)
	}
	obj.Object["status"] = "what"
	if _, err := ImoocPod().Facts(obj); err == nil {
		t.Error("a status that is none was read")
	}
}

// An object that was stored before its CRD had a template has the default one.
func TestTemplate(t *testing.T) {
	t.Parallel()
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": int64(1)}}}
	template, err := Template(obj)
	if err != nil || template.Spec.Containers[0].Image != "busybox" {
		t.Errorf("got %+v, %v", template, err)
	}
	obj.Object["spec"] = map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "main", "image": "web"}}}}}
	if template, err = Template(obj); err != nil || template.Spec.Containers[0].Image != "web" {
		t.Errorf("got %+v, %v", template, err)
	}
	obj.Object["spec"] = map[string]any{"template": map[string]any{"spec": "what"}}
	if _, err := Template(obj); err == nil {
		t.Error("a template that is none was read")
	}
}
