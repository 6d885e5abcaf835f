package main

import (
	"context"
	"net/http"
	"strings"
	"testing"
)

// The logs that a failed step asks for are printed however many objects change at the same
// time.
func TestLogsOfSteps(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"scale foo --replicas 2 --step 1 --logs --fail-after 0s",
		"scale foo --replicas 2 --step 1 --logs --fail-after 0s --parallel",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			s := serveObjects(t, []resourceType{
				{"batch.tutorial.kubebuilder.io/v1alpha1", "imoocpods", "ImoocPod", true, true},
				{"v1", "pods", "Pod", true, false}, {"v1", "events", "Event", true, false},
				{"policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", true, false},
				{"autoscaling/v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", true, false},
				{"coordination.k8s.io/v1", "leases", "Lease", true, false},
			},
				`{apiVersion: batch.tutorial.kubebuilder.io/v1alpha1, kind: ImoocPod, metadata: {name: foo, namespace: default, uid: foo, resourceVersion: "1", generation: 1},
					spec: {replicas: 1}, status: {observedGeneration: 1, replicas: 1}}`,
				`{apiVersion: v1, kind: Pod, metadata: {name: foo-0, namespace: default, uid: foo-0, creationTimestamp: "2026-01-01T00:00:00Z",
					ownerReferences: [{apiVersion: batch.tutorial.kubebuilder.io/v1alpha1, kind: ImoocPod, name: foo, uid: foo, controller: true}]},
					spec: {containers: [{name: main, image: web}]}, status: {phase: Running, containerStatuses: [{name: main, restartCount: 9,
					state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1, reason: Error}}}]}}`)
			s.answers["GET /api/v1/namespaces/default/pods/foo-0/log"] = func(w http.ResponseWriter, _ *http.Request) {
				always(http.StatusOK, "text/plain", "2026-01-01T00:00:00Z no such database\n")(w, nil)
			}
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			if o := runCommand(ctx, t, s.URL, line); o.code != exitFailed || !strings.Contains(o.stderr, "no such database") {
				t.Errorf("exit code %d, it said %q, after %q", o.code, o.stderr, s.requests())
			}
		})
	}
}
