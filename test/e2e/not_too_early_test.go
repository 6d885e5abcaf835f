package e2e

import (
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// imagesOf returns the first image of each pod that has a label and is not terminating.
func imagesOf(t *testing.T, ns, label string) []string {
	t.Helper()
	out := harness.Must(t, cluster.Kubectl(t, ns, "get", "pods", "-l", label, "-o", `go-template={{range .items}}{{if not .metadata.deletionTimestamp}}{{(index .spec.containers 0).image}}{{"\n"}}{{end}}{{end}}`))
	return strings.Fields(out)
}

// A wait for a built-in kind succeeds only when all pods have the new template. It fails
// immediately if a user has paused the rollout.
func TestBuiltInKindsAreNotReadyTooEarly(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	for _, test := range []struct{ kind, fields string }{
		{"StatefulSet", "replicas: 3, serviceName: it, "}, {"Deployment", "replicas: 3, "}, {"DaemonSet", ""},
	} {
		t.Run(test.kind, func(t *testing.T) {
			t.Parallel()
			name := strings.ToLower(test.kind)
			object := name + ".apps/" + name
			cluster.Apply(t, ns, "{apiVersion: apps/v1, kind: "+test.kind+", metadata: {name: "+name+"}, spec: {"+test.fields+"selector: {matchLabels: {is: "+name+"}}, "+
				"template: {metadata: {labels: {is: "+name+"}}, spec: {terminationGracePeriodSeconds: 0, containers: [{name: web, image: 'web:v0'}]}}}}")
			harness.Must(t, cluster.Kubectl(t, ns, "imoocpod", "wait", object, "--timeout", "2m"))
			for _, image := range []string{"web:v1", "web:v2", "web:v3"} {
				harness.Must(t, cluster.Kubectl(t, ns, "set", "image", object, "web="+image))
				harness.Must(t, cluster.Kubectl(t, ns, "imoocpod", "wait", object, "--timeout", "2m"))
				found := imagesOf(t, ns, "is="+name)
				if len(found) != 3 || strings.Count(strings.Join(found, " "), image) != 3 {
					t.Errorf("a wait for %s succeeded with the images %v, want three pods with %s", object, found, image)
				}
			}
		})
	}
	t.Run("paused", func(t *testing.T) {
		t.Parallel()
		cluster.Apply(t, ns, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: paused}, spec: {paused: true, replicas: 1, selector: {matchLabels: {is: paused}}, "+
			"template: {metadata: {labels: {is: paused}}, spec: {containers: [{name: web, image: 'web:v0'}]}}}}")
		harness.Must(t, cluster.Kubectl(t, ns, "rollout", "resume", "deployment/paused"))
		harness.Must(t, cluster.Kubectl(t, ns, "imoocpod", "wait", "deployment/paused", "--timeout", "2m"))
		harness.Must(t, cluster.Kubectl(t, ns, "rollout", "pause", "deployment/paused"))
		harness.Must(t, cluster.Kubectl(t, ns, "set", "image", "deployment/paused", "web=web:v1"))
		r := cluster.Kubectl(t, ns, "imoocpod", "wait", "deployment/paused", "--timeout", "1h")
		if r.Code != harness.ExitFailed || !strings.Contains(r.Stderr, "is paused: ") || !strings.Contains(r.Stderr, "hint: kubectl imoocpod resume deployment/paused -n "+ns) {
			t.Errorf("wait for a paused Deployment: exit code %d, want %d; stderr %q", r.Code, harness.ExitFailed, r.Stderr)
		}
		// A scale takes effect even during a paused rollout.
		harness.Must(t, cluster.Kubectl(t, ns, "imoocpod", "scale", "deployment/paused", "--replicas", "2", "--timeout", "2m"))
		if r := cluster.Kubectl(t, ns, "imoocpod", "status", "deployment/paused", "--exit-code"); r.Code != harness.ExitFailed || !strings.Contains(r.Stdout, ": paused: ") {
			t.Errorf("status of a paused Deployment: exit code %d, want %d; stdout %q", r.Code, harness.ExitFailed, r.Stdout)
		}
	})
}
