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
		"a hostile user":                  with("by", escapetest.Hostile),
		"a long user":                     with("by", strings.Repeat("\x1b[2J", 1<<16)),
		"a hostile time":                  with("at", escapetest.Hostile),
		"a time in the future":            with("at", "9999-12-31T23:59:59Z"),
		"a null time":                     with("at", nil),
		"a path with a hostile field":     with("path", ".spec['"+strings.ReplaceAll(escapetest.Hostile, "\xff", "")+"']"),
		"hostile text as a path":          with("path", escapetest.Hostile),
		"a long path":                     with("path", ".spec."+strings.Repeat("x", 1<<20)),
		"a long path of escape sequences": with("path", strings.Repeat("\x1b[2J", 1<<16)),
		"a path outside the spec":         with("path", ".metadata.generation"),
		"a path with a shell command":     with("path", ".spec['$(reboot)']"),
		"a hostile count":                 with("replicas", escapetest.Hostile),
		"a negative count":                with("replicas", -2),
		"a count above the maximum":       with("replicas", 2147483648),
		"a hostile earlier count":         with("from", escapetest.Hostile),
		"a negative earlier count":        with("from", -2),
		"a hostile later count":           with("to", escapetest.Hostile),
		"hostile text":                    escapetest.Hostile,
		"long hostile text":               strings.Repeat(escapetest.Hostile, 1<<15),
		"deeply nested JSON":              strings.Repeat("[", 1<<18),
		"a list":                          "[]",
		"an empty annotation":             "",
	} {
		for _, count := range []int64{0, 5} {
			obj := parse(t, strings.Replace(deployment(count), "name: web", "name: web, managedFields: [{manager: kubectl-imoocpod, fieldsV1: {f:spec: {f:replicas: {}}}}]", 1))
			obj.SetAnnotations(map[string]string{apis.AnnotationParked: annotation, apis.AnnotationLastScale: annotation})
			park, parkErr := Park(ofWeb(), obj, specReplicas(), "pod", "alice", "", time.Now())
			back, backErr := Unpark(ofWeb(), obj, []string{".spec.replicas"})
			if park.Before != 0 || back.After != 0 && (back.After != 2 || count != 0) {
				t.Errorf("%s, with a count of %d: park plans %d → %d, unpark %d → %d", what, count, park.Before, park.After, back.Before, back.After)
			}
			n, undoErr := Undone(ofFoo(), obj, specReplicas())
			if undoErr == nil && (count != 5 || n != 3) || undoErr != nil && (count == 5 && what == "a hostile user" || undoErr.Error() != escape.Line(undoErr.Error())) {
				t.Errorf("%s, with a count of %d: undo to %d, error %.500q, want 5 → 3 or an error on one line", what, count, n, undoErr)
			}
			for _, err := range []error{parkErr, backErr, undoErr} {
				if err == nil {
					continue
				}
				printed := escape.Text(formatError(err)) // like main
				if len(printed) > 16<<10 || strings.Contains(printed, "\nFORGED") {
					t.Errorf("%s, with a count of %d: error of %d bytes, too long or with a forged line: %.500q", what, count, len(printed), printed)
				}
				for _, line := range strings.Split(printed, "\n")[1:] {
					if !strings.HasPrefix(line, "hint: ") || strings.Contains(line, " $(reboot)") {
						t.Errorf("%s, with a count of %d: line %.500q of the error is not a safe hint", what, count, line)
					}
				}
			}
			if kept := escape.Line(park.Kept); len(kept) > 8<<10 || strings.Contains(kept, "\n") {
				t.Errorf("%s: Kept is too long or has several lines: %.500q", what, kept)
			}
		}
	}
}
