package escape

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"empty text":                   {"", ""},
		"plain text":                   {"1 of 1 pods ready", "1 of 1 pods ready"},
		"Chinese":                      {"副本 1 → 3：正在创建", "副本 1 → 3：正在创建"},
		"Arabic":                       {"جاهز", "جاهز"},
		"combining accent":             {"e\u0301", "e\u0301"},
		"a backslash":                  {`C:\x1b`, `C:\x1b`},
		"joined emoji":                 {"👩🏽‍🚀 🏳️‍🌈 ❤️", "👩🏽‍🚀 🏳️‍🌈 ❤️"},
		"the replacement character":    {"\ufffd", "\ufffd"},
		"a newline and a tab":          {"a\nb\tc", "a b c"},
		"Windows newline":              {"a\r\nb", "a b"},
		"a forged line":                {"no\r1 of 1 pods ready", `no\x0d1 of 1 pods ready`},
		"a carriage return at the end": {"no\r", `no\x0d`},
		"escape sequences":             {"\x1b]0;you\x07\x1b[2J", `\x1b]0;you\x07\x1b[2J`},
		"C1 control character":         {"\u009b2J", `\u009b2J`},
		"C1 control byte":              {"\x9b2J", `\x9b2J`},
		"NUL and DEL":                  {"\x00\x7f", `\x00\x7f`},
		"next line (NEL)":              {"a\u0085b", `a\u0085b`},
		"line separators":              {"a\u2028b\u2029c", `a\u2028b\u2029c`},
		"bidi override and its end":    {"\u202eevil\u202c", `\u202eevil\u202c`},
		"bidi isolates and marks":      {"\u2066\u2069\u200e\u200f\u061c", `\u2066\u2069\u200e\u200f\u061c`},
		"zero-width characters":        {"a\u200bb\ufeffc\u2060d\u00ade", `a\u200bb\ufeffc\u2060d\u00ade`},
		"joiner between letters":       {"fo\u200do", `fo\u200do`},
		"joiners at both ends":         {"\u200d👩\u200d", `\u200d👩\u200d`},
		"tag character":                {"a\U000e0041", `a\U000e0041`},
		"variation selector":           {"a\U000e0101", `a\U000e0101`},
		"invisible letters":            {"a\u3164\u115f\uffa0\u2800", `a\u3164\u115f\uffa0\u2800`},
		"invalid UTF-8":                {"a\xff\xc3(\xe2\x82", `a\xff\xc3(\xe2\x82`},
		"surrogate in UTF-8":           {"\xed\xa0\x80", `\xed\xa0\x80`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Line(test.text); got != test.want {
				t.Errorf("Line(%q) is %q, want %q", test.text, got, test.want)
			}
			if got := Cell(test.text); got != test.want {
				t.Errorf("Cell(%q) is %q, want %q", test.text, got, test.want)
			}
		})
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	const given, want = "a\n\tb\r\nc\rd\x1b[2J\u202e", "a\n\tb\nc" + `\x0dd\x1b[2J\u202e`
	if got := Text(given); got != want {
		t.Errorf("Text(%q) is %q, want %q", given, got, want)
	}
	var b strings.Builder
	if n, err := fmt.Fprint(Writer(&b), given); n != len(given) || err != nil || b.String() != want {
		t.Errorf("Writer: got %q (n = %d, error %v), want %q", b.String(), n, err, want)
	}
}

func TestLongTextsAreCut(t *testing.T) {
	t.Parallel()
	for name, unit := range map[string]string{"ASCII": "a", "Chinese": "副", "escapes": "\u202e", "emoji": "👩‍🚀", "mixed": "a副\x1b\xff"} {
		for which, f := range map[string]struct {
			escape func(string) string
			most   int
		}{"Cell": {Cell, maxCell}, "Line": {Line, maxLine}, "Text": {Text, maxText}} {
			for extra := range 4 {
				s := strings.Repeat("b", extra) + strings.Repeat(unit, f.most+1)
				got := f.escape(s)
				if len(got) > f.most || len(got) < f.most-16 || !strings.HasSuffix(got, ellipsis) {
					t.Fatalf("%s of a long text (%s): got %d bytes that end in %q", which, name, len(got), got[max(0, len(got)-20):])
				}
				check(t, s, got, which == "Text")
				if again := f.escape(got); again != got {
					t.Fatalf("%s changes a text that it has already cut: got one that ended in %q", which, got[len(got)-20:])
				}
			}
		}
	}
	if whole := strings.Repeat("a", maxLine); Line(whole) != whole {
		t.Error("Line cuts a text of maxLine bytes")
	}
}

func TestCleanTextDoesNotAllocate(t *testing.T) {
	for _, s := range []string{"1 of 1 pods ready", "副本 1 → 3：正在创建", "👩🏽‍🚀"} {
		if n := testing.AllocsPerRun(100, func() { _ = Line(s) }); n != 0 {
			t.Errorf("Line(%q) makes %v allocations, want 0", s, n)
		}
	}
}

// check fails the test if an escaped text is not valid UTF-8 or contains invisible characters.
func check(t *testing.T, given, got string, lines bool) {
	t.Helper()
	if !utf8.ValidString(got) {
		t.Fatalf("%q is escaped to %q, which is not valid UTF-8", given, got)
	}
	runes := []rune(got)
	for i, r := range runes {
		if lines && (r == '\n' || r == '\t') {
			continue
		}
		joins := r == joiner && i > 0 && i < len(runes)-1 && isEmoji(runes[i-1]) && isEmoji(runes[i+1])
		if !unicode.IsGraphic(r) && !joins {
			t.Fatalf("%q is escaped to %q, which contains %U", given, got, r)
		}
	}
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "ready", "a\r\nb\x1b[2J\u202e\xff", "👩‍🚀\u200d", "\u3164副"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, escape := range []func(string) string{Cell, Line, Text} {
			got := escape(s)
			if again := escape(got); again != got {
				t.Fatalf("%q is escaped to %q, and escaping that again changes it to %q", s, got, again)
			}
		}
		check(t, s, Line(s), false)
		check(t, s, Text(s), true)
	})
}
