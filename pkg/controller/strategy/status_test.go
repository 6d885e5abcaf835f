package strategy

import (
	"reflect"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// An encoded status decodes to the same status, except for fields that the kind lacks.
func TestStatusRoundTrip(t *testing.T) {
	all := plan.Status{
		ObservedGeneration: 7, Selector: "a=b", Desired: 1, Current: 2, Updated: 3, Ready: 4, Available: 5, PodNames: []string{"x", "y"},
		Conditions: []metav1.Condition{{Type: "Ready", Status: "True", LastTransitionTime: metav1.NewTime(time.Unix(1, 0).UTC())}},
	}
	for _, kind := range kinds.Shipped() {
		status, err := EncodeStatus(kind.Mapping.Status, all, &unstructured.Unstructured{})
		if err != nil {
			t.Fatal(err)
		}
		got := DecodeStatus(kind.Mapping.Status, &unstructured.Unstructured{Object: map[string]any{"status": status}})
		want := all.Masked(kind.Mapping.Status)
		for i := range got.Conditions {
			got.Conditions[i].LastTransitionTime = metav1.NewTime(got.Conditions[i].LastTransitionTime.UTC())
		}
		if !equality.Semantic.DeepEqual(got, want) {
			t.Errorf("%s: decoded status\n%+v\nwant\n%+v", kind.Kind, got, want)
		}
	}
}

func TestEmptyPodNamesAreAList(t *testing.T) {
	status, err := EncodeStatus(kinds.HelloWorld().Mapping.Status, plan.Status{}, &unstructured.Unstructured{})
	if err != nil {
		t.Fatal(err)
	}
	names, found, err := unstructured.NestedSlice(map[string]any{"status": status}, "status", "nodes")
	if err != nil || !found || names == nil || len(names) > 0 {
		t.Errorf("status.nodes = %v (error %v), want an empty list", names, err)
	}
}

// Fields of a status that plans do not write are kept, even if they are invalid or inside a condition that
// plans write.
func TestForeignStatusFieldsAreKept(t *testing.T) {
	at := kinds.ImoocPod().Mapping.Status
	at.Empty = map[string]any{"phase": "", "names": []any{}}
	broken := map[string]any{"type": "Theirs", "status": "True", "lastTransitionTime": "", "more": map[string]any{"a": int64(1)}}
	obj := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
		"phase": "Running", "replicas": "many", "conditions": []any{
			broken, "not even an object",
			map[string]any{"type": "Ready", "status": "True", "lastTransitionTime": "", "reason": "Theirs", "severity": "high"},
		},
	}}}
	before := obj.DeepCopy()
	s := DecodeStatus(at, obj)
	if len(s.Conditions) != 0 || s.Current != -1 {
		t.Errorf("DecodeStatus = %+v, want no conditions, and the count -1 for \"many\"", s)
	}
	s.Current = 3
	s.Conditions = []metav1.Condition{
		{Type: "Ready", Status: "False", Reason: "PodsNotReady", LastTransitionTime: metav1.NewTime(time.Unix(1, 0))},
		{Type: "Progressing", Status: "True", Reason: "CreatingPods", LastTransitionTime: metav1.NewTime(time.Unix(1, 0))},
	}
	whole, err := EncodeStatus(at, s, obj)
	if err != nil {
		t.Fatal(err)
	}
	status, _ := whole.(map[string]any)
	if status["phase"] != "Running" {
		t.Errorf("foreign field phase = %v, want Running", status["phase"])
	}
	if _, written := status["names"]; !written {
		t.Error("the field names of Empty is not written")
	}
	conditions, _ := status["conditions"].([]any)
	if len(conditions) != 4 || !reflect.DeepEqual(conditions[0], broken) || conditions[1] != "not even an object" {
		t.Fatalf("conditions = %v, want 4, the first two unchanged", conditions)
	}
	ready, _ := conditions[2].(map[string]any)
	if ready["status"] != "False" || ready["severity"] != "high" || ready["lastTransitionTime"] == "" {
		t.Errorf("Ready condition = %v, want status False, severity high, and a transition time", ready)
	}
	if !reflect.DeepEqual(obj, before) {
		t.Error("EncodeStatus changed the cached object")
	}
}

func TestInvalidCounts(t *testing.T) {
	at := kinds.ImoocPod().Mapping.Status
	for _, stored := range []any{"3", 2.5, int64(-1), int64(1) << 31, int64(1) << 32, nil, []any{}} {
		obj := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"replicas": stored}}}
		if s := DecodeStatus(at, obj); s.Current >= 0 {
			t.Errorf("stored count %v is decoded as %d, want a negative number", stored, s.Current)
		}
	}
}
