package candidates

import (
	"strings"
	"testing"
)

// A path copied from a list of candidates is invalid until its placeholder is replaced.
func TestPathWithPlaceholder(t *testing.T) {
	t.Parallel()
	for _, path := range []string{`.spec.pools[?(@.name=="KEY")].size`, `.spec.pools["KEY"].size`} {
		if _, err := ParsePath(strings.ReplaceAll(path, "KEY", Unknown)); err == nil || !strings.Contains(err.Error(), "replace "+Unknown+" with the key") {
			t.Errorf("%s with the placeholder: error %v, want one that names it", path, err)
		}
		if _, err := ParsePath(path); err != nil {
			t.Errorf("ParsePath(%s): %v", path, err)
		}
	}
}

func TestRemarks(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]Field{
		"":                           {},
		": The size.":                {Description: "The size."},
		" (now 2, at least 1): Pods": {Value: new(int64(2)), Minimum: new(int64(1)), Description: "Pods"},
		" (new list element: replace " + Unknown + " with its key, at most 9)": {Pattern: true, Maximum: new(int64(9))},
	} {
		if got := f.Remarks(); got != want {
			t.Errorf("Remarks() = %q, want %q", got, want)
		}
	}
}
