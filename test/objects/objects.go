// Package objects creates unstructured objects for tests, from YAML or at random.
package objects

import (
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

// Parse parses YAML like the API machinery: whole numbers are int64.
func Parse(t testing.TB, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var obj map[string]any
	if err := utiljson.Unmarshal(data, &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// Content holds an object in a row of a table test. Whole numbers are int64, as in Parse.
type Content map[string]any

// UnmarshalJSON parses JSON like the API machinery.
func (c *Content) UnmarshalJSON(data []byte) error {
	return utiljson.Unmarshal(data, (*map[string]any)(c))
}

// Names returns a generator of field names: usual, empty, and random names, and names that need quotes.
func Names() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom([]string{"replicas", "name", "", "a.b", "c/d", "~1", "~", "it's", `"`, `\`, "[0]", "é", "-", "0", "*", "…"}), rapid.StringN(1, 4, -1))
}

// Values returns a generator of values in unstructured objects. depth limits how deeply maps and lists are nested.
func Values(depth int) *rapid.Generator[any] {
	leaves := []*rapid.Generator[any]{
		rapid.Int64Range(-1<<53, 1<<53).AsAny(), rapid.String().AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil),
	}
	if depth == 0 {
		return rapid.OneOf(leaves...)
	}
	nested := rapid.Custom(func(t *rapid.T) any { return Maps(depth-1).Draw(t, "object") })
	lists := rapid.Custom(func(t *rapid.T) any {
		return rapid.SliceOfN(Values(depth-1), 0, 3).Draw(t, "list")
	})
	return rapid.OneOf(append(leaves, nested, nested, lists, lists)...)
}

// Maps returns a generator of maps in unstructured objects. depth limits how deeply each value is nested.
func Maps(depth int) *rapid.Generator[map[string]any] {
	return rapid.MapOfN(Names(), Values(depth), 0, 4)
}
