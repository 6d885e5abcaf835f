package main

import (
	"strings"
	"testing"
)

// TestShrink checks that only the descriptions below the pod template are removed, and
// that a field called description stays.
func TestShrink(t *testing.T) {
	t.Parallel()
	const after = `---
metadata:
  annotations:
    imoocpod.dev/template-path: .spec.pod
spec:
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          spec:
            description: What is wanted.
            properties:
              pod:
                description: What each replica is made from.
                properties:
                  description:
                    type: string
                  hosts:
                    items:
                      type: object
`
	before := strings.NewReplacer("type: string", "description: a\n                    type: string", "type: object", "description: b\n                      type: object").Replace(after)
	for text, want := range map[string]string{before: after, after: after, strings.Replace(before, "template-path", "other", 1): strings.Replace(before, "template-path", "other", 1)} {
		if got, err := shrink([]byte(text)); err != nil || string(got) != want {
			t.Errorf("got error %v and\n%s", err, got)
		}
	}
	if got, err := shrink([]byte(strings.Replace(before, ".spec.pod", ".spec.template", 1))); err == nil {
		t.Errorf("without the template: got\n%s", got)
	}
}
