package statusfacts

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

func TestFacts(t *testing.T) {
	t.Parallel()
	obj := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "ns", "name": "foo", "uid": "u", "generation": int64(4), "deletionTimestamp": "2026-01-02T03:04:05Z",
			"annotations": map[string]any{apis.AnnotationPausedUntil: apis.PausedForever}},
		"spec": map[string]any{"replicas": int64(3)},
		"status": map[string]any{
			"observedGeneration": int64(3), "replicas": int64(2), "readyReplicas": int64(1),
			"conditions": []any{map[string]any{"type": "Ready", "status": "False"}},
		},
	}}
	facts, err := Of(kinds.ImoocPod(), obj)
	if err != nil {
		t.Fatal(err)
	}
	if facts.Type != "imoocpod.batch.tutorial.kubebuilder.io" || facts.Kind != "ImoocPod" || facts.Namespace != "ns" || facts.Name != "foo" || facts.UID != "u" || facts.Deleted.IsZero() ||
		facts.Generation != 4 || facts.ObservedGeneration != 3 || facts.Desired != 3 || facts.Current != 2 || facts.Ready != 1 || len(facts.Conditions) != 1 || !facts.UserPause.Forever {
		t.Errorf("got %+v", facts)
	}
	obj.Object["status"] = "what"
	if _, err := Of(kinds.ImoocPod(), obj); err == nil {
		t.Error("a status that is none was read")
	}
}

// Kinds that this program does not ship tell what they have in their own ways.
func TestFactsOfOtherKinds(t *testing.T) {
	t.Parallel()
	kind := kinds.Kind{Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "lamps"}, Kind: "Lamp", Singular: "lamp"}
	type told struct {
		current, ready       int32
		untracked, uncounted bool
	}
	for name, test := range map[string]struct {
		status any
		want   told
	}{
		"as a Deployment":       {map[string]any{"observedGeneration": int64(2), "replicas": int64(3), "readyReplicas": int64(2), "availableReplicas": int64(1)}, told{3, 2, false, false}},
		"as a DaemonSet":        {map[string]any{"observedGeneration": int64(2), "currentNumberScheduled": int64(3), "numberReady": int64(2)}, told{3, 2, false, false}},
		"available alone":       {map[string]any{"availableReplicas": int64(1)}, told{1, 1, true, false}}, // at least that many are there
		"no count of the ready": {map[string]any{"replicas": int64(3)}, told{3, 0, true, true}},
		"other words":           {map[string]any{"clusterSize": int64(3), "readyNodes": int64(3)}, told{3, 3, true, false}},
		"words for a person":    {map[string]any{"ready": "3/3", "replicas": "three"}, told{0, 0, true, true}},
		"ready is a yes":        {map[string]any{"ready": true}, told{0, 0, true, true}},
		"odd conditions":        {map[string]any{"conditions": "fine"}, told{0, 0, true, true}},
		"nothing":               {nil, told{0, 0, true, true}},
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "it"}}}
		if test.status != nil {
			obj.Object["status"] = test.status
		}
		o, err := Of(kind, obj)
		if got := (told{o.Current, o.Ready, o.Untracked, o.Uncounted}); err != nil || got != test.want || !o.Foreign || o.Type != "lamp.example.com" {
			t.Errorf("%s: %+v (%v), want %+v", name, o, err, test.want)
		}
	}
}

// The kinds that this program ships tell it where their mappings say.
func TestFactsOfShippedKinds(t *testing.T) {
	t.Parallel()
	type told struct{ desired, current, ready, updated int32 }
	for name, test := range map[string]struct {
		kind   kinds.Kind
		status map[string]any
		want   told
		pruned bool
	}{
		"ImoocPod":              {kinds.ImoocPod(), map[string]any{"replicas": int64(3), "readyReplicas": int64(2), "updatedReplicas": int64(1)}, told{4, 3, 2, 1}, false},
		"an older ImoocPod":     {kinds.ImoocPod(), map[string]any{"replicas": int64(3), "readyReplicas": int64(2)}, told{4, 3, 2, -1}, false},
		"AppService":            {kinds.AppService(), map[string]any{"replicas": int64(3), "availableReplicas": int64(2)}, told{4, 3, 2, -1}, false},
		"HelloWorld":            {kinds.HelloWorld(), map[string]any{"replicas": int64(3), "availableReplicas": int64(2), "nodes": []any{"a"}}, told{5, 3, 2, -1}, false},
		"the tutorial's":        {kinds.HelloWorld(), map[string]any{"nodes": []any{"a"}}, told{5, 0, 0, -1}, true},
		"HelloWorld, unseen":    {kinds.HelloWorld(), nil, told{5, 0, 0, -1}, false},
		"MyDaemonSet":           {kinds.MyDaemonSet(), map[string]any{"desiredNumberScheduled": int64(7), "currentNumberScheduled": int64(6), "availableReplicas": int64(5), "updatedNumberScheduled": int64(4)}, told{7, 6, 5, 4}, false},
		"a MyDaemonSet, unseen": {kinds.MyDaemonSet(), nil, told{4, 0, 0, -1}, false},
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": int64(4), "size": int64(5)}}}
		if test.status != nil {
			obj.Object["status"] = test.status
		}
		o, err := Of(test.kind, obj)
		got := told{o.Desired, o.Current, o.Ready, -1}
		if o.Updated != nil {
			got.updated = *o.Updated
		}
		if err != nil || got != test.want || o.Untracked != test.pruned || o.Uncounted != test.pruned || o.Foreign {
			t.Errorf("%s: %+v (%v), want %+v", name, o, err, test.want)
		}
	}
}

func TestChild(t *testing.T) {
	t.Parallel()
	child := Child(&unstructured.Unstructured{Object: map[string]any{
		"kind": "ReplicaSet",
		"metadata": map[string]any{"name": "web-1", "uid": "set", "ownerReferences": []any{
			map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "web", "controller": true},
		}},
		"spec":   map[string]any{"replicas": int64(3)},
		"status": map[string]any{"readyReplicas": int64(2), "conditions": []any{map[string]any{"type": "ReplicaFailure", "status": "True"}}},
	}})
	if child.Kind != "ReplicaSet" || child.Name != "web-1" || child.UID != "set" || child.Controller != "web" || *child.Desired != 3 || *child.Ready != 2 || len(child.Conditions) != 1 {
		t.Errorf("got %+v", child)
	}
	if none := Child(&unstructured.Unstructured{Object: map[string]any{"status": "what"}}); none.Desired != nil || none.Controller != "" {
		t.Errorf("got %+v", none)
	}
}

// What others wrote into a status takes nothing from the rest of it, and a number
// that is none of pods is not taken for a small one.
func TestFactsOfAStatusThatOthersWrote(t *testing.T) {
	t.Parallel()
	obj := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "foo", "generation": int64(1)},
		"spec":     map[string]any{"replicas": int64(2)},
		"status": map[string]any{
			"observedGeneration": int64(1), "replicas": int64(4294967296), "readyReplicas": int64(-1),
			"conditions": []any{
				map[string]any{"type": "Theirs", "status": "True", "message": "why", "lastTransitionTime": ""}, "none",
				map[string]any{"type": "Ready", "status": "False", "reason": "PodsNotReady"},
			},
		},
	}}
	o, err := Of(kinds.ImoocPod(), obj)
	if err != nil || len(o.Conditions) != 2 || o.Conditions[0].Message != "why" || o.Conditions[1].Reason != "PodsNotReady" || o.Current != 2147483647 || o.Ready != 0 {
		t.Errorf("read %+v (%v)", o, err)
	}
}
