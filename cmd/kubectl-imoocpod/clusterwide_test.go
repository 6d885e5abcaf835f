package main

import (
	"context"
	"net/http"
	"slices"
	"testing"
)

// The pods of a cluster-scoped object are followed in all namespaces, however the object was
// named.
func TestPodsOfClusterScopedObjects(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"create fleets.example.com/x --replicas 1 --replicas-path .spec.replicas --wait",
		"wait fleets.example.com/there --for=create --for=ready --timeout 2m",
		"wait fleets.example.com/there --timeout 2m",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			s := serveObjects(t, []resourceType{
				{"example.com/v1", "fleets", "Fleet", false, false},
				{"v1", "pods", "Pod", true, false}, {"v1", "events", "Event", true, false},
			}, "{apiVersion: example.com/v1, kind: Fleet, metadata: {name: there, uid: there, resourceVersion: '1'}, spec: {replicas: 1}}")
			ctx, interrupt := context.WithTimeout(t.Context(), deadline)
			defer interrupt()
			const everywhere, here = "GET /api/v1/pods", "GET /api/v1/namespaces/default/pods"
			for _, request := range []string{everywhere, here} {
				s.answers[request] = func(w http.ResponseWriter, r *http.Request) {
					interrupt()
					status(http.StatusServiceUnavailable, "ServiceUnavailable")(w, r)
				}
			}
			o := runCommand(ctx, t, s.URL, line)
			if sent := s.requests(); !slices.Contains(sent, everywhere) || slices.Contains(sent, here) {
				t.Errorf("it sent %q, and said %q", sent, o.stderr)
			}
		})
	}
}
