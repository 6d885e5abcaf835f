package apis

import (
	"strings"
	"testing"
)

func TestNameProblem(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "foo", "foo-1", "a.b", "1", strings.Repeat("a", 253)} {
		if problem := NameProblem(name); problem != "" {
			t.Errorf("NameProblem(%q) = %q, want none", name, problem)
		}
	}
	for name, want := range map[string]string{
		"": "empty", "Foo": "lowercase", "a_b": "lowercase", "-a": "lowercase", "a-": "lowercase", "a..b": "lowercase",
		"a/b": "lowercase", "ä": "lowercase", " ": "lowercase", strings.Repeat("a", 254): "no longer than 253",
	} {
		if problem := NameProblem(name); !strings.Contains(problem, want) {
			t.Errorf("NameProblem(%q) = %q, want one with %q", name, problem, want)
		}
	}
}

func TestCheckLength(t *testing.T) {
	t.Parallel()
	for length, valid := range map[int]bool{1: true, 63: true, 64: false} {
		if err := CheckLength(strings.Repeat("a", length)); (err == nil) != valid {
			t.Errorf("CheckLength of %d characters = %v, want valid: %t", length, err, valid)
		}
	}
}
