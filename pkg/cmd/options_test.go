package cmd

import (
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/replicas"
)

func TestCount(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int32{"0": 0, "3": 3, "007": 7, "2147483647": 2147483647} {
		var got int32
		if err := (count{&got, 0}).Set(text); err != nil || got != want {
			t.Errorf("%q is %d (%v), want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-1", "x", "3.5", "0x10", "1e3", "1_000", " 1", "2147483648", "99999999999999999999"} {
		got := int32(42)
		if err := (count{&got, 0}).Set(text); err == nil || got != 42 {
			t.Errorf("%q was taken for %d", text, got)
		}
	}
	var got int32
	if err := (count{&got, replicas.AnyCount}).Set("-1"); err != nil || got != -1 {
		t.Errorf("-1 is %d (%v) where it is allowed", got, err)
	}
	if err := (count{&got, replicas.AnyCount}).Set("-2"); err == nil {
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
