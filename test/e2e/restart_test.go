package e2e

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// brigadeCRD has a pod template that keeps annotations in version v2, but not in v1.
const brigadeCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: brigades.template.example.com}
spec:
  group: template.example.com
  names: {kind: Brigade, plural: brigades, singular: brigade}
  scope: Namespaced
  versions:
  - name: v2
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {template: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}
  - name: v1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {template: {type: object, properties: {metadata: {type: object}, spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}}}
`

const somePod = "{metadata: {labels: {app: web}, annotations: {note: mine}}, spec: {containers: [{name: main, image: web}]}}"

// No controller runs, so only the requested change happens.
func TestRestart(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Apply(t, "", brigadeCRD)
	cluster.AwaitEstablished(t, "crd/brigades.template.example.com")
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "0")
	cluster.Imoocpod(t, ns, "create", "appservice/foo", "--replicas", "0")
	cluster.Imoocpod(t, ns, "create", "helloworld/foo", "--replicas", "0")
	cluster.Imoocpod(t, ns, "create", "mydaemonset/foo", "--image", "web")
	const selector = "selector: {matchLabels: {app: web}}"
	web := "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, labels: {tier: front}}, spec: {replicas: 0, " + selector + ", template: " + somePod + "}}"
	cluster.Apply(t, ns, web)
	cluster.Apply(t, ns, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: paused}, spec: {replicas: 0, paused: true, "+selector+", template: "+somePod+"}}")
	cluster.Apply(t, ns, "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: few}, spec: {replicas: 0, "+selector+", template: "+somePod+"}}")
	cluster.Apply(t, ns, "{apiVersion: template.example.com/v2, kind: Brigade, metadata: {name: open}, spec: {template: "+somePod+"}}")
	cluster.Apply(t, ns, "{apiVersion: template.example.com/v2, kind: Brigade, metadata: {name: none}, spec: {template: {size: 1}}}")

	const inTemplate, onObject = "spec.template.metadata.annotations", "metadata.annotations"
	for _, step := range []struct{ args, object, says, path string }{
		{"foo", "imoocpods.batch.tutorial.kubebuilder.io/foo", "imoocpod.batch.tutorial.kubebuilder.io/foo restarted\n", inTemplate},
		{"appservice/foo", "appservice/foo", "appservice.appcontroller.k8s.io/foo restarted\n", onObject},
		{"helloworld foo", "helloworld/foo", "helloworld.test.jiaozi.com/foo restarted\n", onObject},
		{"mydaemonsets --all", "mydaemonset/foo", "mydaemonset.apps.zhongmingmao.io/foo restarted\n", onObject},
		{"deployments -l tier=front", "deployment/web", "deployment.apps/web restarted\n", inTemplate},
		{"brigade/open -o name", "brigade/open", "brigade.template.example.com/open\n", inTemplate},
		{"-f " + harness.WriteFile(t, web) + " --dry-run=server", "deployment/web", "deployment.apps/web restarted (server dry run)\n", ""},
		{"deployment/web --dry-run", "deployment/web", "deployment.apps/web restarted (dry run)\n", ""},
	} {
		type_, name, _ := strings.Cut(step.object, "/")
		read := func() *unstructured.Unstructured {
			return harness.Parse(t, harness.Must(t, cluster.Kubectl(t, ns, "get", type_, name, "-o", "yaml")))
		}
		before := read()
		// The annotation has a resolution of one second; another restart within it is
		// refused.
		var r harness.Result
		harness.Eventually(t, "the second has passed", func() bool {
			r = cluster.Kubectl(t, ns, append([]string{"imoocpod", "restart"}, harness.Words(step.args)...)...)
			return !strings.Contains(r.Stderr, "less than a second ago")
		})
		if harness.Must(t, r) != step.says || r.Stderr != "" && !strings.HasPrefix(r.Stderr, "Warning: no controller runs for ") {
			t.Errorf("restart %s printed %q, said %q, want %q", step.args, r.Stdout, r.Stderr, step.says)
		}
		if step.path == "" {
			if after := read(); after.GetResourceVersion() != before.GetResourceVersion() {
				t.Errorf("restart %s changed %s", step.args, step.object)
			}
			continue
		}
		path := strings.Split(step.path, ".")
		after := read()
		annotations, _, _ := unstructured.NestedStringMap(after.Object, path...)
		if _, err := time.Parse(time.RFC3339, annotations["kubectl.kubernetes.io/restartedAt"]); err != nil {
			t.Errorf("%s has the annotations %v: %v", step.object, annotations, err)
		}
		if why := after.GetAnnotations(); why["kubernetes.io/change-cause"] != "restarted" || why["imoocpod.dev/changed-by"] != "admin" {
			t.Errorf("%s has the annotations %v, which do not say who restarted it", step.object, why)
		}
		for _, name := range []string{"kubectl.kubernetes.io/restartedAt", "kubernetes.io/change-cause", "imoocpod.dev/changed-by"} {
			delete(annotations, name)
		}
		was, _, _ := unstructured.NestedStringMap(before.Object, path...)
		if !maps.Equal(annotations, was) {
			t.Errorf("%s has the other annotations %v, had %v", step.object, annotations, was)
		}
	}
	harness.Eventually(t, "the second has passed", func() bool {
		return cluster.Kubectl(t, ns, "imoocpod", "restart", "deployment/web", "--field-manager", "somebody").Code == 0
	})
	managers := harness.Must(t, cluster.Kubectl(t, ns, "get", "deployment", "web", "-o", "jsonpath={.metadata.managedFields[*].manager}", "--show-managed-fields"))
	if !strings.Contains(managers, "somebody") {
		t.Errorf("the field managers are %q, want \"somebody\" among them", managers)
	}

	mustRefuseRestart := func(code int, says string, args ...string) {
		t.Helper()
		r := cluster.Kubectl(t, ns, append([]string{"imoocpod", "restart"}, args...)...)
		if r.Code != code || r.Stdout != "" || !strings.Contains(r.Stderr, says) {
			t.Errorf("restart %v: exit code %d, printed %q, said %q, want %q", args, r.Code, r.Stdout, r.Stderr, says)
		}
	}
	mustRefuseRestart(harness.ExitError, "error: deployment/paused cannot be restarted: it is paused\nhint: to resume it: kubectl imoocpod resume deployments.apps/paused -n "+ns+"\n", "deployment/paused")
	mustRefuseRestart(harness.ExitError, "error: replicaset/few cannot be restarted: its controller does not replace pods when the pod template changes\n", "replicaset/few")
	mustRefuseRestart(harness.ExitError, "error: brigade/none cannot be restarted: it has no pod template at .spec.template\n", "brigade/none")
	mustRefuseRestart(harness.ExitError, "error: brigade/open cannot be restarted: its schema does not allow annotations in .spec.template.metadata\n", "brigades.v1.template.example.com/open")
	mustRefuseRestart(harness.ExitNotFound, `imoocpods.batch.tutorial.kubebuilder.io "no" not found`, "no")
	mustRefuseRestart(harness.ExitUsage, "a NAME or TYPE/NAME is required")
	mustRefuseRestart(harness.ExitError, "no matching resources found", "deployments", "-l", "tier=none")
}
