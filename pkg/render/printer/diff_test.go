package printer

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestDiffYAML(t *testing.T) {
	t.Parallel()
	object := func(image, name string) map[string]any {
		return map[string]any{"a": "1", "b": "2", "c": "3", "image": image, "l": "4", "m": "5", "n": "6", "name": name}
	}
	for name, row := range map[string]struct {
		from, to map[string]any
		want     string
	}{
		"equal":      {object("web:1", "x"), object("web:1", "x"), ""},
		"one change": {object("web:1", "x"), object("web:2", "x"), "--- x\n+++ y\n@@ -1,7 +1,7 @@\n a: \"1\"\n b: \"2\"\n c: \"3\"\n-image: web:1\n+image: web:2\n l: \"4\"\n m: \"5\"\n \"n\": \"6\"\n"},
		"escaped":    {object("web:1", "x"), object("web:1", "\u202ex"), "--- x\n+++ y\n@@ -5,4 +5,4 @@\n l: \"4\"\n m: \"5\"\n \"n\": \"6\"\n-name: x\n+name: \\u202ex\n"},
	} {
		var out strings.Builder
		if err := DiffYAML(&out, "x", "y", row.from, row.to); err != nil || out.String() != row.want {
			t.Errorf("%s: error %v, diff\n%s\nwant\n%s", name, err, out.String(), row.want)
		}
	}
}

// DiffYAML must not take quadratic time. In the worst case, every other line is equal.
func TestDiffOfManyLines(t *testing.T) {
	t.Parallel()
	from, to := map[string]any{}, map[string]any{}
	for i := range 20_000 {
		key := fmt.Sprintf("%06d", i)
		from[key], to[key] = key, key+strings.Repeat("x", i%2)
	}
	var out strings.Builder
	if err := DiffYAML(&out, "x", "y", from, to); err != nil || strings.Count(out.String(), "\n+\"") != 10_000 {
		t.Errorf("error %v, diff of %d bytes, want 10,000 added lines", err, out.Len())
	}
}

func TestHistoryTable(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := History(&out, []Revision{
		{Revision: 10, Created: ago(10 * time.Second), By: "alice", Change: "undo of 9"},
		{Revision: 9, Created: ago(75 * time.Hour), Change: "image nginx:1.29 → nginx:1.30"},
		{Revision: 8, By: "ci\x1b[2J"},
	}, now)
	want := `REVISION   AGE         BY          CHANGE
10         10s         alice       undo of 9
9          3d3h        <unknown>   image nginx:1.29 → nginx:1.30
8          <unknown>   ci\x1b[2J   <none>
`
	if err != nil || out.String() != want {
		t.Errorf("error %v, table\n%s\nwant\n%s", err, out.String(), want)
	}
}
