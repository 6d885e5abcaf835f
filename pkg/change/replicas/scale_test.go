package replicas

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

func change(t *testing.T, word string) *candidates.CountChange {
	t.Helper()
	c, err := candidates.ParseCountChange(word)
	if err != nil {
		t.Fatal(err)
	}
	return &c
}

func TestBefore(t *testing.T) {
	t.Parallel()
	path := specReplicas()
	for value, want := range map[any]string{
		int64(3): "3", int64(0): "0", int64(-1): "-1", int64(math.MaxInt32): fmt.Sprint(math.MaxInt32), int64(math.MinInt32): fmt.Sprint(math.MinInt32),
		int64(math.MaxInt32 + 1): "none", int64(math.MinInt32 - 1): "none", "many": "none", nil: "none",
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
		if value != nil {
			_ = unstructured.SetNestedField(obj.Object, value, "spec", "replicas")
		}
		got := "none"
		if n := Before(obj, &path); n != nil {
			got = fmt.Sprint(*n)
		}
		if got != want {
			t.Errorf("Before with the count %v = %s, want %s", value, got, want)
		}
	}
	if Before(nil, &path) != nil || Before(parse(t, deployment(3)), nil) != nil {
		t.Error("Before returned a count for a nil object or a nil path")
	}
}

// A request depends on the current count if it compares the count, computes the new count from it, or removes pods.
func TestFrom(t *testing.T) {
	t.Parallel()
	target := ofWeb()
	for _, test := range []struct {
		what    string
		request Request
		reads   bool
		now     int64
		want    int32
		refused string
	}{
		{"a count", Request{Replicas: 5, Current: AnyCount}, false, 3, 5, ""},
		{"a count with a precondition", Request{Replicas: 5, Current: 3}, true, 3, 5, ""},
		{"a count with the precondition 0", Request{Replicas: 5}, true, 0, 5, ""},
		{"a count with an unmet precondition", Request{Replicas: 5, Current: 4}, true, 3, 0, "expected the replicas of deployment/web to be 4, was 3"},
		{"an increase", Request{By: change(t, "+2"), Current: AnyCount}, true, 3, 5, ""},
		{"a decrease by more than the count", Request{By: change(t, "-4"), Current: AnyCount}, true, 3, 0, "deployment/web: cannot scale by -4"},
		{"one pod removed", Request{Remove: []string{"a"}, Current: AnyCount}, true, 3, 2, ""},
		{"all pods removed", Request{Remove: []string{"a", "b", "c"}, Current: AnyCount}, true, 3, 0, ""},
		{"too many pods removed", Request{Remove: []string{"a", "b"}, Current: AnyCount}, true, 1, 0, "cannot remove 2 pods from deployment/web: its count is 1"},
		{"a pod removed from the maximum count", Request{Remove: []string{"a"}, Current: AnyCount}, true, math.MaxInt32, math.MaxInt32 - 1, ""},
		{"a pod removed from more than the maximum count", Request{Remove: []string{"a"}, Current: AnyCount}, true, math.MaxInt32 + 1, 0, "its count is 2147483648"},
	} {
		n, err := test.request.From(target, test.now)
		if test.refused == "" && (err != nil || n != test.want) || test.refused != "" && (!errors.Is(err, outcome.ErrPrecondition) || !strings.Contains(err.Error(), test.refused)) {
			t.Errorf("%s: From = %d, %v, want %d, error %q", test.what, n, err, test.want, test.refused)
		}
		if got := test.request.ReadsCount(); got != test.reads {
			t.Errorf("%s: ReadsCount() = %t, want %t", test.what, got, test.reads)
		}
	}
}

func TestNotSet(t *testing.T) {
	t.Parallel()
	path := specReplicas()
	for want, request := range map[string]Request{"to be 3": {Current: 3}, "to be 0": {}, "to be set": {Current: AnyCount}, "to be set ": {By: change(t, "+1"), Current: 3}} {
		err := request.NotSet(ofWeb(), discover.Field{Path: &path})
		if end := "expected the replicas of deployment/web " + strings.TrimSpace(want) + ", but .spec.replicas is not set"; !errors.Is(err, outcome.ErrPrecondition) || !strings.HasSuffix(err.Error(), end) {
			t.Errorf("NotSet = %v, want suffix %q", err, end)
		}
	}
	if err := (Request{}).NotSet(ofWeb(), discover.Field{Scale: true}); !strings.HasSuffix(err.Error(), "but /scale is not set") {
		t.Errorf("NotSet through /scale = %v", err)
	}
}
