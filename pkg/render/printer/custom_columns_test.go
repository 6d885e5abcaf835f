package printer

import (
	"io"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Custom columns have the layout of kubectl get, and accept all forms of paths.
func TestCustomColumns(t *testing.T) {
	t.Parallel()
	foo := unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "foo"}, "verdict": "not reconciled", "ready": int64(2),
		"pods": []any{map[string]any{"name": "foo-0", "ready": true}, map[string]any{"name": "foo-1", "ready": false}},
	}}
	bar := unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a-longer-name"}}}
	c, err := ParseCustomColumns(`NAME:metadata.name,VERDICT:.verdict,READY:{.ready},PODS:{pods[*].name},BAD:.pods[?(@.ready==false)].name`)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for range 2 { // the second table has no headers
		if err := c.PrintObj(&unstructured.UnstructuredList{Items: []unstructured.Unstructured{foo, bar}}, &b); err != nil {
			t.Fatal(err)
		}
	}
	c.columns = columns{NoHeaders: true}
	if err := c.PrintObj(&foo, &b); err != nil {
		t.Fatal(err)
	}
	golden(t, "custom-columns", b.String())
	for _, spec := range []string{"", "NAME", "NAME:", "NAME:{.a", "NAME:.a}", "A:.a,B", "A:{.a}{.b}", "A:.a["} {
		if _, err := ParseCustomColumns(spec); err == nil {
			t.Errorf("ParseCustomColumns(%q) succeeds, want an error", spec)
		}
	}
}

// PrintObj does not panic for any specification that ParseCustomColumns accepts.
func FuzzParseCustomColumns(f *testing.F) {
	for _, spec := range []string{"", "NAME:.metadata.name", "A:.a,B:{.b}", "A", "A:", ":.a", "A:{.a[*]}", "A:.a[0:9:-1]"} {
		f.Add(spec)
	}
	obj := &unstructured.Unstructured{Object: map[string]any{"a": []any{int64(1), "b", nil}, "metadata": map[string]any{"name": "foo"}}}
	f.Fuzz(func(_ *testing.T, spec string) {
		if c, err := ParseCustomColumns(spec); err == nil {
			_ = c.PrintObj(obj, io.Discard)
		}
	})
}
