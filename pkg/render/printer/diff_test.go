package printer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ from, to, want string }{
		"equal":       {"a\nb\n", "a\nb\n", ""},
		"both empty":  {"", "", ""},
		"from none":   {"", "a\n", "--- x\n+++ y\n@@ -0,0 +1 @@\n+a\n"},
		"to none":     {"a\nb\n", "", "--- x\n+++ y\n@@ -1,2 +0,0 @@\n-a\n-b\n"},
		"in between":  {"1\n2\n3\n4\na\n5\n6\n7\n8\n", "1\n2\n3\n4\nb\n5\n6\n7\n8\n", "--- x\n+++ y\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-a\n+b\n 5\n 6\n 7\n"},
		"at the end":  {"1\n2\n3\n4\n", "1\n2\n3\n4\n5\n", "--- x\n+++ y\n@@ -2,3 +2,4 @@\n 2\n 3\n 4\n+5\n"},
		"two near":    {"a\n1\n2\n3\n4\n5\n6\nb\n", "x\n1\n2\n3\n4\n5\n6\ny\n", "--- x\n+++ y\n@@ -1,8 +1,8 @@\n-a\n+x\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+y\n"},
		"two apart":   {"a\n1\n2\n3\n4\n5\n6\n7\nb\n", "x\n1\n2\n3\n4\n5\n6\n7\ny\n", "--- x\n+++ y\n@@ -1,4 +1,4 @@\n-a\n+x\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+y\n"},
		"moved":       {"a\nb\nc\n", "b\nc\na\n", "--- x\n+++ y\n@@ -1,3 +1,3 @@\n-a\n b\n c\n+a\n"},
		"for a shell": {"a\n", "\x1b[31m\n", "--- x\n+++ y\n@@ -1 +1 @@\n-a\n+\\x1b[31m\n"},
	} {
		var out strings.Builder
		if err := Diff(&out, "x", "y", row.from, row.to); err != nil || out.String() != row.want {
			t.Errorf("%s: %v,\n%s\nwant\n%s", name, err, out.String(), row.want)
		}
	}
}

// Applying a diff to the first text results in the second text.
func TestDiffMakesOneTextOfTheOther(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "d\n"}), 0, 30)
		from, to := lines.Draw(t, "from"), lines.Draw(t, "to")
		var diff strings.Builder
		if err := Diff(&diff, "x", "y", strings.Join(from, ""), strings.Join(to, "")); err != nil {
			t.Fatal(err)
		}
		var made []string
		at := 0 // how many lines of the first text were taken
		for line := range strings.Lines(diff.String()) {
			switch text := line[1:]; {
			case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
			case line[0] == '@':
				var begin int
				if _, err := fmt.Sscanf(line, "@@ -%d", &begin); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				if !strings.Contains(line, ",0 +") {
					begin-- // the first line of a hunk that has lines of the first text
				}
				made, at = append(made, from[at:begin]...), begin
			case line[0] == '+':
				made = append(made, text)
			case from[at] != text:
				t.Fatalf("the diff has %q where the text has %q", text, from[at])
			default:
				if line[0] == ' ' {
					made = append(made, text)
				}
				at++
			}
		}
		if made = append(made, from[at:]...); !slices.Equal(made, to) {
			t.Fatalf("the diff of %q and %q makes %q:\n%s", from, to, made, diff.String())
		}
	})
}

func TestHistoryTable(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	var out strings.Builder
	err := History(&out, []Revision{
		{Revision: 10, Created: new(now.Add(-10 * time.Second)), By: "alice", Change: "undo of 9"},
		{Revision: 9, Created: new(now.Add(-75 * time.Hour)), Change: "image nginx:1.29 → nginx:1.30"},
		{Revision: 8, By: "ci\x1b[2J"},
	}, now)
	want := `REVISION   AGE         BY          CHANGE
10         10s         alice       undo of 9
9          3d3h        <unknown>   image nginx:1.29 → nginx:1.30
8          <unknown>   ci\x1b[2J   <none>
`
	if err != nil || out.String() != want {
		t.Errorf("%v,\n%s\nwant\n%s", err, out.String(), want)
	}
}
