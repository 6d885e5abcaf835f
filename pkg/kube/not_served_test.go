package kube

import (
	"errors"
	"testing"
)

// ExplainType names a missing type in the form that the user entered.
func TestExplainType(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		`the server doesn't have a resource type "lamp"`:                        `the server doesn't have a resource type "lamp"`,
		`the server doesn't have a resource type "lamp" in group "example.com"`: `the server doesn't have a resource type "lamp.example.com"`,
		"no objects": "no objects",
	} {
		if got := ExplainType(errors.New(said)).Error(); got != want {
			t.Errorf("%s: %s, want %s", said, got, want)
		}
	}
}
