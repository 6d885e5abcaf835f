package kube

import (
	"errors"
	"testing"
)

// ExplainType names a missing type in the form that the user entered.
func TestExplainType(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		`the server doesn't have a resource type "lamp"`:                        `the server doesn't have a resource type "lamp"`,
		`the server doesn't have a resource type "lamp" in group "example.com"`: `the server doesn't have a resource type "lamp.example.com"`,
		"no objects": "no objects",
	} {
		if got := ExplainType(errors.New(message)).Error(); got != want {
			t.Errorf("ExplainType(%q) = %q, want %q", message, got, want)
		}
	}
}
