package docs

import (
	"fmt"
	"go/scanner"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// phrase contains a pattern that matches unclear words, and advice on what to write instead.
type phrase struct {
	pattern *regexp.Regexp
	instead string
}

// phrases returns the phrases in docs/phrases.tsv.
func phrases(t *testing.T) []phrase {
	t.Helper()
	var all []phrase
	for line := range strings.Lines(read(t, "docs/phrases.tsv")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		pattern, instead, found := strings.Cut(line, "\t")
		if !found {
			t.Fatalf("docs/phrases.tsv: no tab in %q", line)
		}
		all = append(all, phrase{regexp.MustCompile("(?i)" + pattern), instead})
	}
	return all
}

// found returns a message for the first match of each phrase in a line: the line number, the match, and the advice.
func found(text string, all []phrase) []string {
	var places []string
	number := 0
	for line := range strings.Lines(text) {
		number++
		for _, p := range all {
			if m := p.pattern.FindString(line); m != "" {
				places = append(places, fmt.Sprintf("%d: %q: write %s", number, strings.TrimSpace(m), p.instead))
			}
		}
	}
	return places
}

// TestPhrasing checks the wording of the documents, except code and examples of bad style.
func TestPhrasing(t *testing.T) {
	all := phrases(t)
	for _, d := range documents(t) {
		text := fenced.ReplaceAllStringFunc(read(t, d.path), blank)
		text = inline.ReplaceAllString(text, "``")
		text = regexp.MustCompile(`(?m)^\| before \|(.*\n\|)*.*$`).ReplaceAllStringFunc(text, blank)
		for _, place := range found(text, all) {
			t.Errorf("%s:%s", d.path, place)
		}
	}
}

// blank replaces each line of a text with an empty line, to preserve the line numbers after the text.
func blank(text string) string {
	return strings.Repeat("\n", strings.Count(text, "\n"))
}

// TestPhrasingOfCode checks all comments except quoted text, and the string literals in cmd and pkg except in tests.
func TestPhrasingOfCode(t *testing.T) {
	all := phrases(t)
	quoted := regexp.MustCompile("\"[^\"\n]*\"|`[^`\n]*`")
	for _, path := range files(t) {
		if !strings.HasSuffix(path, ".go") {
			continue
		}
		ofProgram := within(path, []string{"cmd", "pkg"}) && !strings.HasSuffix(path, "_test.go")
		source := []byte(read(t, path))
		positions := token.NewFileSet()
		var s scanner.Scanner
		s.Init(positions.AddFile(path, -1, len(source)), source, nil, scanner.ScanComments)
		for position, kind, text := s.Scan(); kind != token.EOF; position, kind, text = s.Scan() {
			switch {
			case kind == token.COMMENT:
				text = quoted.ReplaceAllString(text, `""`)
			case kind == token.STRING && ofProgram:
				text, _ = strconv.Unquote(text) // no error, because the compiler accepts the literal
			default:
				continue
			}
			for _, place := range found(text, all) {
				t.Errorf("%s: line %s", positions.Position(position), place)
			}
		}
	}
}
