package replicas

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape/escapetest"
)

// Anyone who can annotate an object can forge its parked count. park and unpark truncate such text and
// print it on one line. They set only a valid count.
func TestHostileParkAnnotation(t *testing.T) {
	t.Parallel()
	text := func(fields map[string]any) string {
		data, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	const at = "2026-11-22T10:00:00Z"
	inPath := ".spec['" + strings.ReplaceAll(escapetest.Hostile, "\xff", "") + "']"
	for what, annotation := range map[string]string{
		"the user":         text(map[string]any{"replicas": 2, "path": ".spec.replicas", "by": escapetest.Hostile, "at": at}),
		"a long user":      text(map[string]any{"replicas": 2, "path": ".spec.replicas", "by": strings.Repeat("\x1b[2J", 1<<16), "at": at}),
		"the time":         text(map[string]any{"replicas": 2, "path": ".spec.replicas", "at": escapetest.Hostile}),
		"a time to come":   text(map[string]any{"replicas": 2, "path": ".spec.replicas", "at": "9999-12-31T23:59:59Z"}),
		"no time":          text(map[string]any{"replicas": 2, "path": ".spec.replicas"}),
		"the path":         text(map[string]any{"replicas": 2, "path": inPath, "at": at}),
		"no path":          text(map[string]any{"replicas": 2, "path": escapetest.Hostile, "at": at}),
		"a long path":      text(map[string]any{"replicas": 2, "path": ".spec." + strings.Repeat("x", 1<<20), "at": at}),
		"a path elsewhere": text(map[string]any{"replicas": 2, "path": ".metadata.generation", "at": at}),
		"a command":        text(map[string]any{"replicas": 2, "path": ".spec['$(reboot)']", "at": at}),
		"the count":        text(map[string]any{"replicas": escapetest.Hostile, "path": ".spec.replicas", "at": at}),
		"below zero":       `{"replicas":-2,"path":".spec.replicas"}`,
		"too many":         `{"replicas":2147483648,"path":".spec.replicas"}`,
		"no JSON":          escapetest.Hostile,
		"a megabyte":       strings.Repeat(escapetest.Hostile, 1<<15),
		"deep":             strings.Repeat("[", 1<<18),
		"a list":           "[]",
		"nothing":          "",
	} {
		for _, count := range []int64{0, 5} {
			obj := &unstructured.Unstructured{Object: map[string]any{
				"metadata": map[string]any{"name": "web"}, "spec": map[string]any{"replicas": count},
			}}
			obj.SetAnnotations(map[string]string{apis.AnnotationParked: annotation})
			park, parkErr := Park(ofWeb(), obj, specReplicas(), "alice", "", time.Now())
			back, backErr := Unpark(ofWeb(), obj, []string{".spec.replicas"})
			if park.Before != 0 || back.After != 0 && (back.After != 2 || count != 0) {
				t.Errorf("%s, with a count of %d: park plans %d → %d, unpark %d → %d", what, count, park.Before, park.After, back.Before, back.After)
			}
			for _, err := range []error{parkErr, backErr} {
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
