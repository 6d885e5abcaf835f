package main

import (
	"strings"
	"testing"
)

// What cannot be the name of an image is refused before a server is asked.
func TestImpossibleImages(t *testing.T) {
	t.Parallel()
	s := serveObjects(t, nil)
	for line, want := range map[string]string{
		"create foo --image No!":                                  "error: --image: invalid image name \"No!\": invalid reference format\n",
		"set image foo No!":                                       "error: invalid image name \"No!\": invalid reference format\n",
		"set image foo web=nginx side=No!":                        "error: invalid image name \"No!\": invalid reference format\n",
		"install --controller --image No!":                        "error: --image: invalid image name \"No!\": invalid reference format\n",
		"kinds new Foo --group example.com --install --image No!": "error: --image: invalid image name \"No!\": invalid reference format\n",
	} {
		if o := runCommand(t.Context(), t, s.URL, line); o.code != exitUsage || o.stdout != "" || !strings.HasPrefix(o.stderr, want) {
			t.Errorf("%s: exit code %d, it said %q, want %q", line, o.code, o.stderr, want)
		}
	}
	if sent := s.requests(); len(sent) > 0 {
		t.Errorf("it sent %q", sent)
	}
}
