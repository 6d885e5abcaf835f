package e2e

import (
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// imagesOf returns the images of the pods with a label that are not terminating.
func imagesOf(t *testing.T, ns, label string) []string {
	t.Helper()
	out := harness.Must(t, cluster.Kubectl(t, ns, "get", "pods", "-l", label, "-o", `go-template={{range .items}}{{if not .metadata.deletionTimestamp}}{{(index .spec.containers 0).image}}{{"\n"}}{{end}}{{end}}`))
	return strings.Fields(out)
}

// A wait for a built-in kind ends when all pods have the new template, or at once if a
// user has paused the rollout.
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
					t.Errorf("%s is ready with %v, want three of %s", object, found, image)
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
			t.Errorf("exit code %d, said %q", r.Code, r.Stderr)
		}
		// The count takes effect nevertheless.
		harness.Must(t, cluster.Kubectl(t, ns, "imoocpod", "scale", "deployment/paused", "--replicas", "2", "--timeout", "2m"))
		if r := cluster.Kubectl(t, ns, "imoocpod", "status", "deployment/paused", "--exit-code"); r.Code != harness.ExitFailed || !strings.Contains(r.Stdout, ": paused: ") {
			t.Errorf("exit code %d, printed %q", r.Code, r.Stdout)
		}
	})
}

// boatCRD is a kind whose controller does not report a generation.
const boatCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.late.example.com}
spec:
  group: late.example.com
  names: {kind: Boat, plural: boats, singular: boat}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {replicas: {type: integer}, color: {type: string}}}
          status: {type: object, properties: {replicas: {type: integer}, phase: {type: string}}}`

// An object is not ready before its operator has seen it, nor while an object that it
// owns is not ready.
func TestLateOperator(t *testing.T) {
	t.Parallel()
	cluster.Apply(t, "", boatCRD)
	cluster.AwaitEstablished(t, "crd/boats.late.example.com")
	ns := cluster.NewNamespace(t)
	boat := cluster.CreateObject(t, ns, "boats.late.example.com", "{apiVersion: late.example.com/v1, kind: Boat, metadata: {name: it}, spec: {replicas: 2, color: red}}")
	waits := func(code int, says string, args ...string) {
		t.Helper()
		r := cluster.Kubectl(t, ns, append([]string{"imoocpod"}, args...)...)
		if r.Code != code || !strings.Contains(r.Stderr, says) {
			t.Errorf("%v: exit code %d, said %q, want %d and %q", args, r.Code, r.Stderr, code, says)
		}
	}
	writes := func(fields string) {
		t.Helper()
		harness.Must(t, cluster.Kubectl(t, ns, "patch", "boat/it", "--subresource=status", "--type=merge", "--field-manager", "captain", "-p", `{"status":`+fields+`}`))
	}
	waits(harness.ExitTimeout, "last seen: progressing: ", "wait", "boat/it", "--timeout", "5s")
	// The operator copies the count before the object is ready.
	cluster.CreateObject(t, ns, "statefulsets.apps", workload("StatefulSet", "crew", 2))
	ownedBy(t, ns, "statefulsets.apps", "crew", boat)
	waits(0, "", "wait", "boat/it", "--timeout", "2m")

	// The operator is stopped, and the spec changes.
	harness.Must(t, cluster.Kubectl(t, ns, "patch", "boat/it", "--type=merge", "-p", `{"spec":{"color":"blue"}}`))
	waits(harness.ExitTimeout, "cannot tell whether its controller has seen the last change", "wait", "boat/it", "--timeout", "5s")
	w := cluster.StartPlugin(t, "wait", "boat/it", "-n", ns, "--timeout", "1h")
	writes(`{"replicas":2,"phase":"Sailing"}`)
	if code := w.Wait(); code != 0 {
		t.Errorf("the wait ended with exit code %d", code)
	}

	// The count changes, but the child does not yet.
	waits(harness.ExitTimeout, "", "scale", "boat/it", "--replicas", "3", "--timeout", "1s")
	w = cluster.StartPlugin(t, "wait", "boat/it", "-n", ns, "--timeout", "1h")
	harness.Must(t, cluster.Kubectl(t, ns, "scale", "statefulset.apps/crew", "--replicas", "3"))
	writes(`{"replicas":3}`)
	if code := w.Wait(); code != 0 {
		t.Errorf("the wait ended with exit code %d", code)
	}
	if m := statusOf(t, ns, "statefulset.apps/crew"); m.Replicas.Ready != 3 {
		t.Errorf("with the boat ready, its crew is %+v", m)
	}
	// The child is updated, but the operator reports nothing.
	harness.Must(t, cluster.Kubectl(t, ns, "set", "image", "statefulset.apps/crew", "main=web:v2"))
	harness.Must(t, cluster.Kubectl(t, ns, "imoocpod", "wait", "boat/it", "--timeout", "2m"))
	for _, image := range imagesOf(t, ns, "app=crew") {
		if image != "web:v2" {
			t.Errorf("with the boat ready, its crew has the image %s", image)
		}
	}
}
