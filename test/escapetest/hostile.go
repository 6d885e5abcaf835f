// Package escapetest contains hostile text for tests, and a check that text was escaped.
package escapetest

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// Hostile is text that clears the screen, forges lines in several ways, and reverses the order of
// characters if it is not escaped.
const Hostile = "a\x1b[2J\rFORGED\nFORGED\u2028FORGED\u0085\u202e\u200b\x7f\xff"

// MustBeHarmless fails the test if a text contains a forged line, invalid UTF-8, or a non-graphic character other than
// a newline, or if it lacks the escaped \x1b of Hostile.
func MustBeHarmless(t testing.TB, what, text string) {
	t.Helper()
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) && r != '\n' }) {
		t.Errorf("%s contains unescaped characters: %q", what, text)
	}
	if strings.Contains(text, "\nFORGED") || !strings.Contains(text, `\x1b`) && !strings.Contains(text, `\\x1b`) {
		t.Errorf("%s contains a forged line, or lacks the escaped text: %q", what, text)
	}
}
