package e2e

import (
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis/batch/v1alpha1"
)

// Manifests written for the original tutorial work unchanged, with kubectl alone.
func TestTutorialObject(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	cluster.Apply(t, ns, harness.ImoocPodManifest("imoocpod-sample", "spec:\n  replicas: 3"))
	cluster.AwaitConverged(t, ns, "imoocpod-sample", 3)
	matches(t, "get imp", harness.Must(t, cluster.Kubectl(t, ns, "get", "imp")), `NAME +DESIRED +CURRENT +READY +AGE
imoocpod-sample +3 +3 +3 +\d+\w*
`)
	if out := harness.Must(t, cluster.Kubectl(t, ns, "scale", "imp", "imoocpod-sample", "--replicas", "1", "--current-replicas", "3")); out != "imoocpod.batch.tutorial.kubebuilder.io/imoocpod-sample scaled\n" {
		t.Errorf("kubectl scale printed %q", out)
	}
	cluster.AwaitConverged(t, ns, "imoocpod-sample", 1)
	if pods := harness.Must(t, cluster.Kubectl(t, ns, "get", "pods", "-l", "app=imoocpod-sample", "-o", "name")); strings.Count(pods, "\n") != 1 {
		t.Errorf("the label app selects %q", pods)
	}
	// The selector that autoscalers and disruption budgets read matches the pods.
	selector := harness.Must(t, cluster.Kubectl(t, ns, "get", "imp", "imoocpod-sample", "--subresource", "scale", "-o", "jsonpath={.status.selector}"))
	if pods := harness.Must(t, cluster.Kubectl(t, ns, "get", "pods", "-l", selector, "-o", "name")); selector == "" || strings.Count(pods, "\n") != 1 {
		t.Errorf("the selector %q selects %q", selector, pods)
	}
	harness.Must(t, cluster.Kubectl(t, ns, "wait", "imp/imoocpod-sample", "--for=condition=Ready"))
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	for name, rest := range map[string]string{
		"no-spec": "", "null-spec": "spec: null", "empty-spec": "spec: {}", "null-replicas": "spec: {replicas: null}",
		"null-template": "spec: {template: null}", "one": "spec: {replicas: 1}",
	} {
		cluster.Apply(t, ns, harness.ImoocPodManifest(name, rest))
		spec := cluster.ImoocPod(t, ns, name).Spec
		if spec.Replicas == nil || *spec.Replicas != 1 || !equality.Semantic.DeepEqual(spec.Template, v1alpha1.DefaultTemplate()) {
			t.Errorf("%s: the spec is %+v", name, spec)
		}
	}
	cluster.Apply(t, ns, harness.ImoocPodManifest("none", "spec: {replicas: 0}"))
	if spec := cluster.ImoocPod(t, ns, "none").Spec; *spec.Replicas != 0 {
		t.Errorf("no replicas became %d", *spec.Replicas)
	}
}

// Manifests that can never work are rejected with a reason.
func TestServerRejects(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	container := "containers: [{name: main, image: web}]"
	for name, test := range map[string]struct{ rest, says string }{
		"negative":              {"spec: {replicas: -1}", "spec.replicas: Invalid value: -1"},
		"above-int32":           {"spec: {replicas: 2147483648}", "spec.replicas: Invalid value: 2147483648"},
		"no-number":             {"spec: {replicas: three}", "spec.replicas: Invalid value: \"string\""},
		"never":                 {"spec: {template: {spec: {restartPolicy: Never, " + container + "}}}", "only the restart policy Always is supported"},
		"onfailure":             {"spec: {template: {spec: {restartPolicy: OnFailure, " + container + "}}}", "only the restart policy Always is supported"},
		"empty-template":        {"spec: {template: {}}", "spec.template.spec: Required value: a pod template needs a spec with at least one container"},
		"labels-only":           {"spec: {template: {metadata: {labels: {a: b}}}}", "spec.template.spec: Required value: a pod template needs a spec with at least one container"},
		"no-containers":         {"spec: {template: {spec: {containers: []}}}", "a pod template needs a spec with at least one container"},
		"field-is-misspelled":   {"spec: {replica: 3}", `unknown field "spec.replica"`},
		strings.Repeat("a", 64): {"", "name must be no longer than 63 characters"},
	} {
		r := cluster.Kubectl(t, ns, "apply", "-f", harness.WriteFile(t, harness.ImoocPodManifest(name, test.rest)))
		if r.Code == 0 || !strings.Contains(r.Stderr, test.says) {
			t.Errorf("%s: exit code %d, said %q, want %q in it", name, r.Code, r.Stderr, test.says)
		}
	}
	// Updates are validated, too.
	cluster.Imoocpod(t, ns, "create", "foo")
	r := cluster.Kubectl(t, ns, "patch", "imp", "foo", "--type", "merge", "-p", `{"spec":{"template":{"spec":{"restartPolicy":"Never"}}}}`)
	if r.Code == 0 || !strings.Contains(r.Stderr, "only the restart policy Always is supported") {
		t.Errorf("exit code %d, said %q", r.Code, r.Stderr)
	}
	if r := cluster.Kubectl(t, ns, "scale", "imp", "foo", "--replicas", "-1"); r.Code == 0 {
		t.Error("kubectl scale set a negative count")
	}
	if left := cluster.ImoocPodVersions(t, ns); len(left) != 1 {
		t.Errorf("there are %v, want foo alone", left)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	cluster.InstallCRDs(t)
	for field, want := range map[string][]string{
		"imoocpod":                          {"ImoocPod keeps a number of identical pods running."},
		"imoocpod.spec":                     {"Desired number of pods. With 0, the object", "Template of the pods.", "replicas\t<integer>", "template\t<Object>"},
		"imoocpod.status":                   {"Most recently observed state", "Number of ready pods.", "Label selector of the pods"},
		"imp.spec.template.spec.containers": {"name\t<string> -required-"},
		"appservice":                        {"AppService keeps one Deployment"},
		"appservice.spec":                   {"deploymentName\t<string> -required-", "Image of the container."},
		"appservice.status":                 {"Number of available pods."},
		"helloworld.spec":                   {"size\t<integer>", "Desired number of pods."},
		"helloworld.status":                 {"Names of the pods, sorted."},
		"mydaemonset":                       {"MyDaemonSet keeps one pod on each node that may run it"},
		"mydaemonset.spec":                  {"Image of the container. Required."},
		"mydaemonset.status":                {"Number of nodes that should run the pod."},
	} {
		out := harness.Must(t, cluster.Kubectl(t, "", "explain", field))
		for _, words := range want {
			if !strings.Contains(out, words) {
				t.Errorf("explain %s does not say %q:\n%s", field, words, out)
			}
		}
		// All fields of our own types have descriptions.
		if !strings.Contains(field, "template") && (strings.Contains(out, "<no description>") || strings.Contains(out, "<empty>")) {
			t.Errorf("explain %s leaves something without words:\n%s", field, out)
		}
	}
}
