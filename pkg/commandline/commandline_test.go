package commandline

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		context Context
		cmd     Command
		want    string
	}{
		"plugin":      {nil, Plugin("scale", "foo", "--replicas", "3"), "kubectl imoocpod scale foo --replicas 3"},
		"namespace":   {nil, Plugin("wait", "foo").In("team-a"), "kubectl imoocpod wait foo -n team-a"},
		"clusterwide": {nil, Plugin("wait", "foo").In(""), "kubectl imoocpod wait foo"},
		"kubectl":     {nil, Kubectl("delete", "pod", "db-2").In("team-a"), "kubectl delete pod db-2 -n team-a"},
		"quoting":     {nil, Plugin("scale", "foo", "--replicas-path", `.spec.sets[?(@.name=="it's")].n`), `kubectl imoocpod scale foo --replicas-path '.spec.sets[?(@.name=="it'\''s")].n'`},
		"context":     {Context{"--kubeconfig", "/k c", "--context", "staging"}, Plugin("check").In("n"), "kubectl imoocpod check -n n --kubeconfig '/k c' --context staging"},
		"arguments":   {Context{"--context", "staging"}, Kubectl("create", "deployment", "web").In("n").With("--", "sleep", "5"), "kubectl create deployment web -n n --context staging -- sleep 5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.context.Line(test.cmd); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestQuoted(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"":                                   "''",
		"system:serviceaccount:a:b":          "system:serviceaccount:a:b",
		".spec.replicas":                     ".spec.replicas",
		"user@example.com":                   "user@example.com",
		"oidc:O'Brien":                       `'oidc:O'\''Brien'`,
		"a b":                                "'a b'",
		"*":                                  "'*'",
		"~":                                  "'~'",
		"$(id)`id`;id|id&":                   "'$(id)`id`;id|id&'",
		"a\\b\"c\nd":                         "'a\\b\"c\nd'",
		"ü":                                  "'ü'",
		`.spec.sets[?(@.name=="hot")].count`: `'.spec.sets[?(@.name=="hot")].count'`,
	} {
		got := quoted(word)
		if got != want {
			t.Errorf("quoted(%q) is %q, want %q", word, got, want)
		}
		if expanded, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+got).Output(); err != nil || string(expanded) != word {
			t.Errorf("sh expands %s to %q, want %q; error %v", got, expanded, word, err)
		}
	}
}

// WithSome adds at most ten of the names, so that the command keeps its namespace and context.
func TestWithSome(t *testing.T) {
	t.Parallel()
	names := slices.Repeat([]string{strings.Repeat("a", 63)}, 700)
	line := Context{"--context=staging"}.Line(Kubectl("delete", "pod").WithSome(names).In("shop"))
	if escape.Line(line) != line || !strings.HasSuffix(line, " -n shop --context=staging") {
		t.Errorf("suggested command %q is cut, or lacks its namespace or context", line)
	}
}
