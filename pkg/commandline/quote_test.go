package commandline

import (
	"os/exec"
	"testing"
)

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
		if taken, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+got).Output(); err != nil || string(taken) != word {
			t.Errorf("a shell takes %s for %q: %v", got, taken, err)
		}
	}
}
