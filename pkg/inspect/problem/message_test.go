package problem

import (
	"strings"
	"testing"
)

func TestWithoutJSON(t *testing.T) {
	t.Parallel()
	pod := `{"kind":"Pod","metadata":{"name":"a\"}","labels":{"a":"` + strings.Repeat("b", 100) + `"}}}`
	short := `{"a":"` + strings.Repeat("b", longObject-8) + `"}` // the longest object that remains in the message
	for text, want := range map[string]string{
		"exceeded quota":                 "exceeded quota",
		"pod " + short + "!":             "pod " + short + "!",
		"pod " + short[:79] + " ":        "pod " + short[:79] + " ",
		"pod " + pod + " exceeded quota": "pod {…} exceeded quota",
		pod + pod:                        "{…}{…}",
		`set {"a":1} twice`:              `set {"a":1} twice`,
		"pod " + pod[:len(pod)-3]:        "pod {…",
		`a brace {" that is none`:        `a brace {" that is none`,
	} {
		if got := withoutJSON(text); got != want {
			t.Errorf("withoutJSON(%q) = %q, want %q", text, got, want)
		}
	}
}
