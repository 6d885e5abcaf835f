// Package escape makes text from other people and programs safe to show. Anyone who can name or
// annotate an object, or respond to a request, can choose text that appears in a terminal, a log, or
// an event. Such text must not move the cursor, forge a line, or change the order of words.
package escape

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits for shown text, in bytes. Longer text is truncated and ends with "…".
const (
	maxColumn = 256
	// maxCell is the maximum length of an event's message.
	maxCell = 1024
	maxLine = 4096
	maxText = 128 * 1024
)

const ellipsis = "…"

// Column is like Line, but for any column of a table except the last. Its limit fits the longest name of
// an object. Longer text would push the next columns out of the line.
func Column(s string) string { return visible(s, maxColumn, false) }

// Cell is like Line, but allows less text. It is for the last column of a table and for an event's message.
func Cell(s string) string { return visible(s, maxCell, false) }

// Line escapes s for one line.
//
// Newlines and tabs become spaces. Invisible characters become visible escapes: control characters, line
// separators, bidirectional controls, zero-width characters, tags, blank letters, and all characters that Unicode
// does not define as graphic. A byte that is not valid UTF-8 is escaped, too. The escapes have the syntax of Go:
// \x1b, \u202e, \U000e0041, \xff.
//
// A zero-width joiner between two emoji is not escaped, because it combines them. Elsewhere, even in
// Persian and Indic scripts, it is escaped, because it can hide text.
//
// If s needs no change, Line returns s without an allocation. Escaping is idempotent.
func Line(s string) string { return visible(s, maxLine, false) }

// Text escapes multi-line text. It is like Line, but allows more text and keeps newlines and tabs.
func Text(s string) string { return visible(s, maxText, true) }

// Writer returns a writer that escapes like Text. Each write must end at a character boundary, as in package fmt.
func Writer(w io.Writer) io.Writer { return writer{w} }

// PrintLine formats a line, escapes it, and writes it.
func PrintLine(w io.Writer, format string, args ...any) error {
	_, err := fmt.Fprintln(w, Line(fmt.Sprintf(format, args...)))
	return err
}

type writer struct{ to io.Writer }

func (w writer) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.to, Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// visible escapes s and truncates the result to the limit most, in bytes. If lines is set, it keeps newlines and tabs.
func visible(s string, most int, lines bool) string {
	if len(s) <= most && clean(s, lines) {
		return s
	}
	var b strings.Builder
	end := 0 // the last position in b at which the ellipsis still fits
	for i := 0; i < len(s) && b.Len() <= most; {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case stays(s, i, r, lines):
			b.WriteString(s[i : i+size])
		case r == '\r' && strings.HasPrefix(s[i+1:], "\n"):
			// Drop the carriage return of a Windows line ending.
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		case size == 1: // a control character, or a byte that is not UTF-8
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		if b.Len() <= most-len(ellipsis) && r != joiner {
			end = b.Len()
		}
		i += size
	}
	if b.Len() > most {
		return b.String()[:end] + ellipsis
	}
	return b.String()
}

func clean(s string, lines bool) bool {
	for i, r := range s {
		if !stays(s, i, r, lines) {
			return false
		}
	}
	return true
}

// stays reports whether r, the rune at s[i], stays unchanged.
func stays(s string, i int, r rune, lines bool) bool {
	switch {
	case r < utf8.RuneSelf:
		return r >= ' ' && r != 0x7f || lines && (r == '\n' || r == '\t')
	case r == utf8.RuneError:
		return strings.HasPrefix(s[i:], string(r)) // U+FFFD itself, not an invalid byte
	case r == joiner:
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		after, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		return isEmoji(before) && isEmoji(after)
	case r == 0x2800, unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
		return false // graphic by category, but invisible
	case r > 0xffff && unicode.Is(unicode.Variation_Selector, r):
		return false // these 240 runes are invisible after any character, so they can hide data
	}
	return unicode.IsGraphic(r)
}

const joiner = '\u200d'

// isEmoji reports whether a rune can be the first or last of an emoji: a symbol, a skin tone, or variation selector 16.
func isEmoji(r rune) bool {
	return unicode.Is(unicode.So, r) && r != utf8.RuneError || r >= 0x1f3fb && r <= 0x1f3ff || r == 0xfe0f
}
