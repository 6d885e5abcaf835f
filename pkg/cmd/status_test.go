package cmd

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// After a time in which changes may have been missed, what changed is shown,
// what is gone is said to be, and nothing is shown twice.
func TestCatchUp(t *testing.T) {
	t.Parallel()
	object := func(uid, resourceVersion string) unstructured.Unstructured {
		obj := unstructured.Unstructured{Object: map[string]any{}}
		obj.SetUID(types.UID(uid))
		obj.SetResourceVersion(resourceVersion)
		return obj
	}
	shown := shownObjects{}
	var said []string
	show := func(obj *unstructured.Unstructured, gone bool) error {
		shown.note(obj, gone)
		word := string(obj.GetUID()) + obj.GetResourceVersion()
		if gone {
			word += " gone"
		}
		said = append(said, word)
		return nil
	}
	for _, step := range []struct {
		found []unstructured.Unstructured
		want  string
	}{
		{[]unstructured.Unstructured{object("a", "1"), object("b", "2")}, "a1,b2"},
		{[]unstructured.Unstructured{object("a", "1"), object("b", "2")}, ""},
		{[]unstructured.Unstructured{object("a", "3"), object("c", "4")}, "a3,c4,b2 gone"},
		{nil, "a3 gone,c4 gone"},
		{nil, ""},
	} {
		said = nil
		if err := shown.catchUp(step.found, show); err != nil {
			t.Fatal(err)
		}
		if len(step.found) == 0 {
			slices.Sort(said)
		}
		if got := strings.Join(said, ","); got != step.want {
			t.Errorf("showed %q, want %q", got, step.want)
		}
	}
}
