package main

import "testing"

func TestShellQuote(t *testing.T) {
	for text, want := range map[string]string{
		"/tmp/a-b.c": "/tmp/a-b.c",
		"/tmp/a b":   "'/tmp/a b'",
		"it's":       `'it'\''s'`,
		"":           "''",
	} {
		if got := shellQuote(text); got != want {
			t.Errorf("shellQuote(%q) = %s, want %s", text, got, want)
		}
	}
}
