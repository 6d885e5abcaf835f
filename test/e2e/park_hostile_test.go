package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape/escapetest"
)

// A forged annotation on a parked object is printed safely, and an invalid count is not
// restored.
func TestHostileParkAnnotation(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.CreateObject(t, ns, "deployments.apps", workload("Deployment", "web", 0))
	cluster.Imoocpod(t, ns, "wait", "deployment/web", "--timeout", "5m")
	deployments := cluster.Dynamic.Resource(harness.Resource("deployments.apps")).Namespace(ns)
	value := func(fields map[string]any) string {
		data, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	const at = "2026-01-02T10:00:00Z"
	for what, row := range map[string]struct {
		annotation, unparks string
		code                int
	}{
		"the user":    {value(map[string]any{"replicas": 2, "path": ".spec.replicas", "by": escapetest.Hostile, "at": at}), "deployment/web: 0 → 2\n", 0},
		"a long user": {value(map[string]any{"replicas": 2, "path": ".spec.replicas", "by": strings.Repeat("\x1b[2J", 20_000), "at": at}), "deployment/web: 0 → 2\n", 0},
		"the path":    {value(map[string]any{"replicas": 2, "path": ".spec['\nFORGED\u202e']", "at": at}), "error: overwritten: deployment/web was parked with 2 replicas and has changed since: ", harness.ExitOverwritten},
		"no JSON":     {strings.Repeat(strings.ToValidUTF8(escapetest.Hostile, ""), 5000), "error: deployment/web: the annotation imoocpod.dev/parked is invalid", harness.ExitError},
	} {
		patch := value(map[string]any{"spec": map[string]any{"replicas": 0}, "metadata": map[string]any{"annotations": map[string]any{apis.AnnotationParked: row.annotation}}})
		if _, err := deployments.Patch(t.Context(), "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, args := range []string{"status deployment/web", "status deployments", "describe deployment/web", "park deployment/web", "unpark deployment/web"} {
			r := cluster.Kubectl(t, ns, append([]string{"imoocpod"}, harness.Words(args)...)...)
			said := r.Stdout + r.Stderr
			if said != escape.Text(said) || strings.Contains(said, "\nFORGED") || len(said) > 64<<10 {
				t.Errorf("%s: %s: exit code %d, said %d bytes: %.1000q", what, r.Line, r.Code, len(said), said)
			}
			if args == "unpark deployment/web" && (r.Code != row.code || !strings.HasPrefix(r.Stderr, row.unparks)) {
				t.Errorf("%s: %s: exit code %d, said %.500q, want %q", what, r.Line, r.Code, r.Stderr, row.unparks)
			}
		}
	}
}
