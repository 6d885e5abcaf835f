package fieldpath

import (
	"reflect"
	"testing"
)

func TestObject(t *testing.T) {
	t.Parallel()
	inner := map[string]any{"n": int64(1)}
	for _, row := range []struct {
		of    map[string]any
		names []string
		want  map[string]any
	}{
		{map[string]any{"a": map[string]any{"b": inner}}, []string{"a", "b"}, inner},
		{inner, nil, inner},
		{map[string]any{"a": "text"}, []string{"a", "b"}, nil},
		{nil, []string{"a"}, nil},
	} {
		if got := Object(row.of, row.names...); !reflect.DeepEqual(got, row.want) {
			t.Errorf("%v in %v is %v, want %v", row.names, row.of, got, row.want)
		}
	}
}

// What is no text is left out, whatever a server sent in its place.
func TestStrings(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		value any
		want  []string
	}{
		{[]any{"a", int64(1), nil, "b"}, []string{"a", "b"}},
		{"a", nil},
		{nil, nil},
	} {
		if got := Strings(row.value); !reflect.DeepEqual(got, row.want) {
			t.Errorf("%v is %q, want %q", row.value, got, row.want)
		}
	}
}
