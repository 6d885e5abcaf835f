package status

import "testing"

// The message of the controller is added only once. For a ready object, it is omitted.
func TestWord(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		word    Word
		verdict Verdict
		want    string
	}{
		"nothing":        {Word{}, Progressing, "1 of 3"},
		"a word":         {Word{Phase: "Electing"}, Progressing, "1 of 3; its controller reports: Electing"},
		"a sentence":     {Word{Message: "no\nleader"}, Progressing, "1 of 3; its controller reports: no leader"},
		"both":           {Word{Phase: "Electing", Message: "no leader"}, Failed, "1 of 3; its controller reports: Electing: no leader"},
		"what was said":  {Word{Message: "of 3"}, Progressing, "1 of 3"},
		"of what is up":  {Word{Phase: "Running"}, Ready, "1 of 3"},
		"said of nobody": {Word{Phase: "Lost"}, NotReconciled, "1 of 3; its controller reports: Lost"},
	} {
		v := view{Snapshot: Snapshot{Object: Object{Evidence: Evidence{Word: test.word}}}, given: ruling{verdict: test.verdict, reason: "1 of 3"}}
		got := v.given.reason
		if added := controllerReports(&v); added != nil {
			got = added.reason
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
