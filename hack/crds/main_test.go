package main

import (
	"strings"
	"testing"
)

const before = `---
metadata:
  annotations:
    imoocpod.dev/template-path: .spec.pod
spec:
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        description: An object.
        properties:
          spec:
            description: What is wanted.
            properties:
              pod:
                description: What each replica is made from.
                properties:
                  description:
                    description: A field of this name.
                    type: string
                  hosts:
                    description: A list.
                    items:
                      description: An element.
                      properties:
                        name:
                          description: A name.
                          type: string
                      type: object
                    type: array
                  labels:
                    additionalProperties:
                      description: A value.
                      type: string
                    description: A map.
                    type: object
                type: object
            type: object
        type: object
`

const after = `---
metadata:
  annotations:
    imoocpod.dev/template-path: .spec.pod
spec:
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        description: An object.
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
                      properties:
                        name:
                          type: string
                      type: object
                    type: array
                  labels:
                    additionalProperties:
                      type: string
                    type: object
                type: object
            type: object
        type: object
`

// TestShrink checks that only the descriptions below the pod template are removed.
func TestShrink(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"a pod template":      {before, after},
		"the same once more":  {after, after},
		"no pod template":     {strings.Replace(before, "template-path", "name-label", 1), strings.Replace(before, "template-path", "name-label", 1)},
		"a list without more": {"spec: {versions: []}", "spec: {versions: []}"},
	} {
		if got, err := shrink([]byte(c.text)); err != nil || string(got) != c.want {
			t.Errorf("%s: got error %v and\n%s", name, err, got)
		}
	}
	for name, text := range map[string]string{
		"a template that is not there": strings.Replace(before, ".spec.pod", ".spec.template", 1),
		"no YAML":                      "{",
	} {
		if got, err := shrink([]byte(text)); err == nil {
			t.Errorf("%s: got\n%s", name, got)
		}
	}
}
