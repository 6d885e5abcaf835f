package printer

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestKinds(t *testing.T) {
	t.Parallel()
	kinds := []*Kind{
		{Kind: "ImoocPod", Group: "batch.tutorial.kubebuilder.io", Field: ".spec.replicas", Found: "built in", MayScale: new(true), Objects: new(int64(2)), Reconciled: true},
		{Kind: "ReplicationController", Field: ".spec.replicas", Found: "/scale", MayScale: new(false), Objects: new(int64(0))},
		{Kind: "Lamp", Group: "example.com", Found: "guess", Candidates: []string{".spec.size"}, MayScale: new(true)},
		{Kind: "Store", Group: "example.com", Found: "guess", Candidates: []string{".spec.insert.count", ".spec.select.count", ".spec.storage.count"}, Objects: new(int64(1200))},
		{Kind: "Sharded", Group: "example.com", Field: ".spec.shards", Found: "/scale", OtherCounts: []string{".spec.replicas"}, MayScale: new(true)},
		{Kind: "Broken", Group: "example.com", Found: "the server is away"},
	}
	for name, wide := range map[string]bool{"kinds": false, "kinds-wide": true} {
		var w strings.Builder
		if err := Kinds(&w, kinds, wide); err != nil {
			t.Fatal(err)
		}
		golden(t, name, w.String())
	}
}

// Describe writes the spec and status of any object in kubectl's layout.
func TestDescribeAnyKind(t *testing.T) {
	t.Parallel()
	object := map[string]any{
		"apiVersion": "example.com/v1", "kind": "Store",
		"spec": map[string]any{
			"clusterIP": "10.0.0.1", "maxUnavailable": "25%", "replicas": int64(3), "paused": false, "ratio": 0.5, "nothing": nil,
			"empty": map[string]any{}, "none": []any{}, "HTTPPort": int64(80),
			"matchLabels": map[string]any{"app.kubernetes.io/name": "store", "tier": "back"},
			"args":        []any{"--now", int64(1), []any{"deeper"}},
			"nodeSets":    []any{map[string]any{"name": "hot", "count": int64(1), "roles": []any{"a"}}, map[string]any{"name": "cold"}},
			"script":      "first\nsecond \x1b[31mred",
		},
		"status": map[string]any{"readyReplicas": int64(1)},
	}
	obj := &unstructured.Unstructured{Object: object}
	var w strings.Builder
	if err := Describe(&w, ready(), obj, nil, now); err != nil {
		t.Fatal(err)
	}
	golden(t, "describe-any", w.String())
	object["spec"] = "what"
	w.Reset()
	if err := Describe(&w, ready(), obj, nil, now); err != nil || !strings.Contains(w.String(), "Spec:  what\n") {
		t.Errorf("a spec that is a string: error %v, output\n%s", err, w.String())
	}
}

func TestLabel(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]string{
		"": "", "replicas": "Replicas", "readyReplicas": "Ready Replicas", "clusterIP": "Cluster IP", "a": "A", "v1Beta": "V1 Beta",
		"app.kubernetes.io/name": "app.kubernetes.io/name", "snake_case": "snake_case", "HTTP": "HTTP", "über": "Über",
	} {
		if got := label(field); got != want {
			t.Errorf("label(%q) = %q, want %q", field, got, want)
		}
	}
}
