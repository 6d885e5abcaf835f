package harness

import (
	"slices"
	"strings"
	"testing"
)

// noted is a testing.TB that counts errors.
type noted struct {
	testing.TB

	errors int
}

func (n *noted) Helper() {}

func (n *noted) Errorf(string, ...any) { n.errors++ }

func TestCheckHints(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args, output string
		errors       int
	}{
		"nothing printed":        {"status foo", "", 0},
		"a hint":                 {"status foo", "hint: kubectl imoocpod logs imoocpod/foo -n ns --failing", 0},
		"an unknown flag":        {"status foo", "hint: kubectl imoocpod logs imoocpod/foo --failed", 1},
		"an unknown verb":        {"status foo", "hint: kubectl imoocpod log foo", 1},
		"flags that do not fit":  {"status foo", "hint: kubectl imoocpod scale foo --replicas 1 --by +1", 1},
		"a placeholder":          {"scale foo --undo", "hint: to set a count: kubectl imoocpod scale foo --replicas COUNT", 0},
		"two, of which one fits": {"status foo", "hint: a: kubectl imoocpod undo foo; to do b: kubectl imoocpod undo --no foo", 1},
		"the context is missing": {"status foo --context=a", "hint: kubectl imoocpod undo foo", 1},
		"another context":        {"status foo --context a", "hint: kubectl imoocpod undo foo --context=b", 1},
		"the same context":       {"status foo --context a --as=b", "hint: kubectl imoocpod undo foo --context=a --as=b", 0},
		"the user is missing":    {"status foo --as=b", "hint: kubectl imoocpod undo foo", 1},
		"check grants rights":    {"check --as=b --context a", "  kubectl imoocpod install --roles --context=a", 0},
		"check, no context":      {"check --context a", "  kubectl imoocpod install --roles", 1},
		"in a sentence":          {"status foo --context a", `run "kubectl imoocpod install --context=a"; waiting`, 0},
		"the name of a verb":     {"set x --context a", `unknown command "x" for "kubectl imoocpod set"`, 0},
		"help":                   {"scale --help", "  kubectl imoocpod scale foo --replica 3", 0},
		"quoted":                 {"status foo", `kubectl imoocpod scale foo --replicas 1 --replicas-path '.spec.sets[?(@.name=="it'\''s")].n'`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := &noted{TB: t}
			if CheckHints(got, strings.Fields(test.args), test.output); got.errors != test.errors {
				t.Errorf("found %d errors, want %d", got.errors, test.errors)
			}
		})
	}
}

func TestFirstCommand(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		`a  b`:        {"a", "b"},
		`a 'b c';d`:   {"a", "b c"},
		`a'b'\''c' d`: {"ab'c", "d"},
		`a ''" b`:     {"a", ""},
	} {
		if got := firstCommand(line); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
