package controller

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// sized returns an object whose template has an argument of the given number of bytes.
func sized(kind kinds.Kind, bytes int) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "ns", "name": "foo", "uid": "u", "resourceVersion": "7", "generation": int64(3), "creationTimestamp": "2026-01-02T15:04:05Z"},
		"spec": map[string]any{
			"replicas": int64(2), "deploymentName": "web", "image": "nginx",
			"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{
				"name": "a", "image": "a", "args": []any{strings.Repeat("x", bytes)},
			}}}},
		},
		"status": map[string]any{"observedGeneration": int64(3), "replicas": int64(2), "note": strings.Repeat("y", 100)},
	}}
	obj.SetGroupVersionKind(kind.GroupVersionKind())
	return obj
}

func strategyOf(t testing.TB, kind kinds.Kind) *strategy.Strategy {
	t.Helper()
	return strategy.All()[kind.Mapping.Strategy]
}

// The cache keeps only an outline of a large object, which still shows whether the object has changed.
func TestLargeObjectsAreNotCached(t *testing.T) {
	for _, kind := range []kinds.Kind{kinds.ImoocPod(), kinds.AppService(), kinds.MyDaemonSet()} {
		for bytes, kept := range map[int]bool{1_000: true, 1_300_000: false} {
			obj := sized(kind, bytes)
			obj.SetAnnotations(map[string]string{apis.AnnotationRestartedAt: "noon", apis.AnnotationPausedUntil: apis.PausedForever, apis.AnnotationPausedBy: "alice", apis.AnnotationRemovedSlots: "1,4"})
			trimmed, ok := trimOwner(kind)(obj.DeepCopy()).(*unstructured.Unstructured)
			if !ok {
				t.Fatalf("%s of %d bytes: trimOwner did not return a %T", kind.Kind, bytes, trimmed)
			}
			cached, ok := trimOwner(kind)(trimmed).(*unstructured.Unstructured) // as client-go does with a streamed list
			if !ok {
				t.Fatalf("%s of %d bytes: the second trimOwner did not return a %T", kind.Kind, bytes, cached)
			}
			if n := strategy.Size(cached.Object); kept != equality.Semantic.DeepEqual(cached, obj) || n > maxCached {
				t.Errorf("%s of %d bytes: the cached object has %d bytes, want at most %d, and the whole object: %t", kind.Kind, bytes, n, maxCached, kept)
			}
			if differs(kind, cached, obj) || cached.GetResourceVersion() != "7" || cached.GetName() != "foo" || cached.GetNamespace() != "ns" {
				t.Errorf("%s of %d bytes: the cached object counts as changed, or its metadata is wrong: %v", kind.Kind, bytes, cached.Object["metadata"])
			}
			if a, b := strategy.DecodeStatus(kind.Mapping.Status, cached), strategy.DecodeStatus(kind.Mapping.Status, obj); !equality.Semantic.DeepEqual(a, b) {
				t.Errorf("%s of %d bytes: status in the cache = %+v, want %+v", kind.Kind, bytes, a, b)
			}
			if isOutline(cached) == kept {
				t.Errorf("%s of %d bytes: isOutline = %t, want %t", kind.Kind, bytes, kept, !kept)
			}
		}
	}
}

// differs compares the removed slots. The cache keeps only the start of a list that is too long.
func TestDiffersComparesRemovedSlots(t *testing.T) {
	kind := kinds.ImoocPod()
	before := sized(kind, 1)
	after := before.DeepCopy()
	for _, slots := range []string{"1", "1,4", "", strings.Repeat("1,", 100_000)} {
		after.SetAnnotations(map[string]string{"other": slots, apis.AnnotationRemovedSlots: slots})
		if differs(kind, before, after) != (removedSlots(before) != slots) {
			t.Errorf("removed slots %.10q and %.10q: differs = %t, want the opposite", removedSlots(before), slots, differs(kind, before, after))
		}
		before = after.DeepCopy()
	}
	if cached := outline(kind, before); strategy.Size(cached.Object) > maxCached {
		t.Errorf("the outline has %d bytes, want at most %d", strategy.Size(cached.Object), maxCached)
	}
	if o := strategyOf(t, kind).Owner(kind, before); o.Invalid != "the annotation imoocpod.dev/removed-slots cannot be read: it is longer than 11000 bytes" {
		t.Errorf("annotation with 200,000 bytes: Invalid = %q, want an error about its length", o.Invalid)
	}
	before.SetAnnotations(map[string]string{apis.AnnotationRemovedSlots: "4,1"})
	if o := strategyOf(t, kind).Owner(kind, before); o.Invalid != "" || o.Removed.String() != "1,4" {
		t.Errorf("annotation \"4,1\": Removed = %s, Invalid = %q, want 1,4 and no error", o.Removed, o.Invalid)
	}
}

// A template that is too large sets Problem, but not Invalid, and the count is still read.
func TestTemplateThatIsTooLarge(t *testing.T) {
	for bytes, refused := range map[int]bool{100_000: false, 300_000: true} {
		o := strategyOf(t, kinds.ImoocPod()).Owner(kinds.ImoocPod(), sized(kinds.ImoocPod(), bytes))
		if (o.Template == nil) != refused || strings.Contains(o.Problem, "more than 262144 bytes") != refused || o.Desired != 2 || o.Invalid != "" {
			t.Errorf("template of %d bytes: Problem %q, Desired %d, Invalid %q, want refused: %t, Desired 2", bytes, o.Problem, o.Desired, o.Invalid, refused)
		}
	}
}

func TestInvalidObjects(t *testing.T) {
	for name, test := range map[string]struct {
		kind             kinds.Kind
		field            string
		value            any
		invalid, problem string
	}{
		"replica count beyond 32 bits":            {kinds.ImoocPod(), "replicas", int64(4294967296), ".spec.replicas is 4294967296", ""},
		"negative replica count of an AppService": {kinds.AppService(), "replicas", int64(-1), ".spec.replicas is -1", ""},
		"Deployment name is a number":             {kinds.AppService(), "deploymentName", int64(1), "read the Deployment name of foo", ""},
		"template is a string":                    {kinds.ImoocPod(), "template", "none", "", "read the pod template of foo"},
		"image of a MyDaemonSet is a number":      {kinds.MyDaemonSet(), "image", int64(1), "read the image of foo", "read the image of foo"},
		"MyDaemonSet with a replica count":        {kinds.MyDaemonSet(), "replicas", "many", "", ""},
	} {
		obj := sized(test.kind, 1)
		if err := unstructured.SetNestedField(obj.Object, test.value, "spec", test.field); err != nil {
			t.Fatal(err)
		}
		o := strategyOf(t, test.kind).Owner(test.kind, obj)
		if !strings.HasPrefix(o.Invalid, test.invalid) || (o.Invalid == "") != (test.invalid == "") ||
			!strings.HasPrefix(o.Problem, test.problem) || (o.Problem == "") != (test.problem == "") {
			t.Errorf("%s: invalid %q, problem %q; want %q, %q", name, o.Invalid, o.Problem, test.invalid, test.problem)
		}
	}
}
