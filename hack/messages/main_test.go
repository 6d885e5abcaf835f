package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestTexts checks that printed texts and commands to paste are listed, and that
// search patterns and templates are not.
func TestTexts(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "verb.go")
	source := `package verb

import "strings"

func say(s string) string {
	if strings.Contains(s, "is looked for") || strings.HasPrefix(strings.TrimSpace(s), "is looked for") {
		return "{{if .Is}} a template"
	}
	_, after, _ := strings.Cut(s, "is looked for")
	advise(commandline.Plugin("scale", "foos/"+s, s).With("--wait"))
	return strings.ToUpper("is printed " + s) + after
}
`
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	texts, err := textsOf(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"kubectl imoocpod scale foos/… …", "is printed …"}; !slices.Equal(texts, want) {
		t.Errorf("got texts %q, want %q", texts, want)
	}
}

// TestItem checks that a text keeps its lines.
func TestItem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"one line":            "* `one line`\n",
		"with `code` in it":   "* `` with `code` in it ``\n",
		"a line\n\n  another": "* ```text\n  a line\n\n    another\n  ```\n",
	} {
		if got := item(text); got != want {
			t.Errorf("%q: got item %q, want %q", text, got, want)
		}
	}
}

// TestProgram checks that tests, test packages, and other files are left out.
func TestProgram(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"pkg/cmd/scale.go": true, "pkg/cmd/scale_test.go": false, "pkg/escape/escapetest/hostile.go": false, "docs/page.md": false,
	} {
		if got := program(path); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}
