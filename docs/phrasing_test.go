package docs

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// phrase is a pattern that matches unclear words, and the words to write instead.
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

// found returns the phrases in a text, with their line numbers and replacements.
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

// TestPhrasingOfMessages checks the wording of the program's messages.
func TestPhrasingOfMessages(t *testing.T) {
	command := exec.CommandContext(t.Context(), "go", "run", "./hack/messages")
	command.Dir = root
	messages, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range found(string(messages), phrases(t)) {
		t.Errorf("line %s of the output of make messages", place)
	}
}

// commentDirs returns the directories in which TestPhrasingOfComments reads all Go files.
func commentDirs() []string { return []string{"cmd", "deploy", "docs", "hack", "pkg", "test"} }

// TestPhrasingOfComments checks the wording of the comments in Go files, except quoted text.
func TestPhrasingOfComments(t *testing.T) {
	all := phrases(t)
	quoted := regexp.MustCompile("\"[^\"\n]*\"|`[^`\n]*`")
	for _, dir := range commentDirs() {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			files := token.NewFileSet()
			file := files.AddFile(path, -1, len(source))
			var s scanner.Scanner
			s.Init(file, source, nil, scanner.ScanComments)
			for {
				position, kind, text := s.Scan()
				if kind == token.EOF {
					return nil
				}
				if kind != token.COMMENT {
					continue
				}
				for _, place := range found(quoted.ReplaceAllString(text, `""`), all) {
					t.Errorf("%s: comment line %s", files.Position(position), place)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
