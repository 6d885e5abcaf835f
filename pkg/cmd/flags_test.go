package cmd

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/replicas"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
)

func TestCount(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int32{"0": 0, "3": 3, "007": 7, "2147483647": 2147483647} {
		var got int32
		if err := numberFlag(&got, 0).Set(text); err != nil || got != want {
			t.Errorf("%q is %d (%v), want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-1", "x", "3.5", "0x10", "1e3", "1_000", " 1", "2147483648", "99999999999999999999"} {
		got := int32(42)
		if err := numberFlag(&got, 0).Set(text); err == nil || got != 42 {
			t.Errorf("%q was taken for %d", text, got)
		}
	}
	var got int32
	if err := numberFlag(&got, replicas.AnyCount).Set("-1"); err != nil || got != -1 {
		t.Errorf("-1 is %d (%v) where it is allowed", got, err)
	}
	if err := numberFlag(&got, replicas.AnyCount).Set("-2"); err == nil {
		t.Error("-2 was taken")
	}
}

func TestNameProblem(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "foo", "foo-1", "a.b", "1", strings.Repeat("a", 253)} {
		if problem := nameProblem(name); problem != "" {
			t.Errorf("%q was refused: %s", name, problem)
		}
	}
	for name, want := range map[string]string{
		"": "empty", "Foo": "lowercase", "a_b": "lowercase", "-a": "lowercase", "a-": "lowercase", "a..b": "lowercase",
		"a/b": "lowercase", "ä": "lowercase", " ": "lowercase", strings.Repeat("a", 254): "no longer than 253",
	} {
		if problem := nameProblem(name); !strings.Contains(problem, want) {
			t.Errorf("of %q it says %q, want %q", name, problem, want)
		}
	}
}

// A choice accepts only its words, and no other part of the text that lists them.
func TestChoice(t *testing.T) {
	t.Parallel()
	value := "wait"
	cmd := &cobra.Command{}
	addChoice(cmd, &value, "if-held", "Must be %s.", "wait", "exit")
	c := cmd.Flags().Lookup("if-held").Value
	for _, word := range []string{"", "or", "wai", " ", `"`, `wait" or "exit`, "WAIT"} {
		if err := c.Set(word); err == nil || err.Error() != `must be "wait" or "exit"` || value != "wait" {
			t.Errorf("%q: %v, and the value is %q", word, err, value)
		}
	}
	if err := c.Set("exit"); err != nil || value != "exit" || c.String() != "exit" {
		t.Errorf("exit: %v, and the value is %q", err, value)
	}
}

// A path copied from a list of candidates is invalid until its placeholder is replaced.
func TestPathWithPlaceholder(t *testing.T) {
	t.Parallel()
	for _, path := range []string{`.spec.pools[?(@.name=="KEY")].size`, `.spec.pools["KEY"].size`} {
		if _, err := parseReplicasPath(strings.ReplaceAll(path, "KEY", candidates.Unknown)); err == nil || !strings.Contains(err.Error(), "replace "+candidates.Unknown+" with the key") {
			t.Errorf("%s with the placeholder: %v", path, err)
		}
		if _, err := parseReplicasPath(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// --template-path and --image-path accept only fields in .spec.
func TestSpecFieldFlag(t *testing.T) {
	t.Parallel()
	for path, valid := range map[string]bool{
		".spec.template": true, ".spec.sets[0].template": true, ".spec": false, ".status.template": false, ".spec.sets[0]": false,
	} {
		var value *fieldpath.Path
		if err := specFieldFlag(&value).Set(path); (err == nil) != valid || (value != nil) != valid {
			t.Errorf("%s: %v, and the value is %v", path, err, value)
		}
	}
}

// The name of a new object can be as long as the value of a label, and no longer.
func TestCheckLength(t *testing.T) {
	t.Parallel()
	for length, valid := range map[int]bool{1: true, 63: true, 64: false} {
		if err := checkLength(strings.Repeat("a", length)); (err == nil) != valid {
			t.Errorf("%d characters: %v", length, err)
		}
	}
}
