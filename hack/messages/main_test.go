package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestList checks that printed texts and commands to paste are listed with their lines. Search
// patterns, templates, tests, test packages, and other files are omitted.
func TestList(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const other = "package verb\n\nconst text = \"is left out\"\n"
	for name, source := range map[string]string{
		"verb/verb.go": `package verb

import "strings"

func say(s string) string {
	if strings.Contains(s, "is looked for") || strings.HasPrefix(strings.TrimSpace(s), "is looked for") {
		return "{{if .Is}} a template"
	}
	_, after, _ := strings.Cut(s, "is looked for")
	advise(commandline.Plugin("scale", "foos/"+s, s).With("--wait"))
	print("a line\n\n  and another")
	return strings.ToUpper("is printed "+s) + after
}
`,
		"verb/verb_test.go": other, "verb/verbtest/verb.go": other, "verb/page.md": other,
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	if err := list(&out, dir); err != nil {
		t.Fatal(err)
	}
	want := header + "\n## " + filepath.ToSlash(dir) + "/verb/verb.go\n\n    kubectl imoocpod scale foos/… …\n\n" +
		"    a line\n    \n      and another\n\n    is printed …\n\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}
