package apiserver_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// TestListAgreesWithOneObject checks that status reports the same verdict for one object and for
// all objects while a crash-looping container is briefly ready.
func TestListAgreesWithOneObject(t *testing.T) {
	for _, n := range []int{1, 12} { // for several objects, status lists the pods once instead of per object
		bubble.Test(t, func(t *testing.T) {
			var all []string
			for i := range n {
				all = append(all, deployment(fmt.Sprintf("web%d", i), "example.com/web:1", 2))
			}
			s := cluster(t, all...)
			for _, pod := range s.List("pods", "default") {
				s.As("kubelet").Update("pods", "default", pod.GetName(), func(obj *unstructured.Unstructured) {
					statuses, _, _ := unstructured.NestedSlice(obj.Object, "status", "containerStatuses")
					container, _ := statuses[0].(map[string]any)
					now := time.Now().UTC()
					container["restartCount"] = int64(5)
					container["lastState"] = map[string]any{"terminated": map[string]any{
						"exitCode": int64(1), "reason": "Error", "startedAt": now.Add(-3 * time.Second).Format(time.RFC3339), "finishedAt": now.Add(-2 * time.Second).Format(time.RFC3339),
					}}
					container["state"] = map[string]any{"running": map[string]any{"startedAt": now.Add(-time.Second).Format(time.RFC3339)}}
					set(obj, statuses, "status", "containerStatuses")
				})
			}
			if ready, _, _ := unstructured.NestedInt64(s.Get("deployments", "default", "web0").Object, "status", "readyReplicas"); ready != 2 {
				t.Fatalf("%d pods are ready", ready)
			}
			for line, want := range map[string]int{
				"status deployment/web0": 1, "status deployments": n, "status": n, "status -A": n, "status -l x!=y": n,
			} {
				stdout, stderr, err := run(t, s, line+" -o jsonpath={.verdict}{.items[*].verdict}")
				if got := strings.Count(stdout, "failed"); err != nil || got != want {
					t.Errorf("%s: %v, %d have failed, want %d, it printed\n%s%s", line, err, got, want, stdout, stderr)
				}
				if stdout, _, err = run(t, s, line); err != nil || strings.Count(stdout, "failed") < want {
					t.Errorf("%s: %v, it printed\n%s", line, err, stdout)
				}
			}
		})
	}
}
