package replicas

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/test/escapetest"
)

// Anyone who can annotate an object can forge its parked count and its last change. Errors truncate such text and
// print it on one line, before their hints. park, unpark, and undo set only a valid count.
func TestHostileAnnotations(t *testing.T) {
	t.Parallel()
	with := func(field string, value any) string {
		fields := map[string]any{"replicas": 2, "from": 3, "to": 5, "path": ".spec.replicas", "at": "2026-11-22T10:00:00Z"}
		fields[field] = value
		data, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for what, annotation := range map[string]string{
		"the user":         with("by", escapetest.Hostile),
		"a long user":      with("by", strings.Repeat("\x1b[2J", 1<<16)),
		"the time":         with("at", escapetest.Hostile),
		"a time to come":   with("at", "9999-12-31T23:59:59Z"),
		"no time":          with("at", nil),
		"the path":         with("path", ".spec['"+strings.ReplaceAll(escapetest.Hostile, "\xff", "")+"']"),
		"no path":          with("path", escapetest.Hostile),
		"a long path":      with("path", ".spec."+strings.Repeat("x", 1<<20)),
		"a hidden path":    with("path", strings.Repeat("\x1b[2J", 1<<16)),
		"a path elsewhere": with("path", ".metadata.generation"),
		"a command":        with("path", ".spec['$(reboot)']"),
		"the count":        with("replicas", escapetest.Hostile),
		"below zero":       with("replicas", -2),
		"too many":         with("replicas", 2147483648),
		"no JSON":          escapetest.Hostile,
		"a megabyte":       strings.Repeat(escapetest.Hostile, 1<<15),
		"deep":             strings.Repeat("[", 1<<18),
		"a list":           "[]",
		"nothing":          "",
	} {
		for _, count := range []int64{0, 5} {
			obj := parse(t, deployment(count))
			obj.SetAnnotations(map[string]string{apis.AnnotationParked: annotation, apis.AnnotationLastScale: annotation})
			park, parkErr := Park(ofWeb(), obj, specReplicas(), "pod", "alice", "", time.Now())
			back, backErr := Unpark(ofWeb(), obj, []string{".spec.replicas"})
			if park.Before != 0 || back.After != 0 && (back.After != 2 || count != 0) {
				t.Errorf("%s, with a count of %d: park plans %d → %d, unpark %d → %d", what, count, park.Before, park.After, back.Before, back.After)
			}
			_, undoErr := Undone(ofFoo(), obj, specReplicas())
			if undoErr == nil || undoErr.Error() != escape.Line(undoErr.Error()) {
				t.Errorf("%s, with a count of %d: the error %.500q", what, count, undoErr)
			}
			for _, err := range []error{parkErr, backErr, undoErr} {
				if err == nil {
					continue
				}
				said := escape.Text(told(err)) // like main
				if len(said) > 16<<10 || strings.Contains(said, "\nFORGED") {
					t.Errorf("%s, with a count of %d: an error of %d bytes: %.500q", what, count, len(said), said)
				}
				for _, line := range strings.Split(said, "\n")[1:] {
					if !strings.HasPrefix(line, "hint: ") || strings.Contains(line, " $(reboot)") {
						t.Errorf("%s, with a count of %d: the line %.500q", what, count, line)
					}
				}
			}
			if kept := escape.Line(park.Kept); len(kept) > 8<<10 || strings.Contains(kept, "\n") {
				t.Errorf("%s: %.500q", what, kept)
			}
		}
	}
}
