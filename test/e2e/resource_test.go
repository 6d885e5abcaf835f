package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis/batch/v1alpha1"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// The first lines of manifests.
const (
	imoocPod    = "apiVersion: batch.tutorial.kubebuilder.io/v1alpha1\nkind: ImoocPod\n"
	appService  = "apiVersion: appcontroller.k8s.io/v1alpha1\nkind: AppService\n"
	helloWorld  = "apiVersion: test.jiaozi.com/v1alpha1\nkind: HelloWorld\n"
	myDaemonSet = "apiVersion: apps.zhongmingmao.io/v1beta1\nkind: MyDaemonSet\n"
)

// manifest returns a manifest with the first lines in head, the name, and the lines in rest.
func manifest(head, name, rest string) string {
	return fmt.Sprintf("%smetadata: {name: %q}\n%s\n", head, name, rest)
}

// send creates an object of a shipped kind, with the validation that kubectl requests.
func send(t *testing.T, ns, head, name, rest string) error {
	t.Helper()
	obj := harness.Parse(t, manifest(head, name, rest))
	for _, kind := range kinds.Shipped() {
		if kind.Kind == obj.GetKind() {
			_, err := cluster.Dynamic.Resource(kind.Resource).Namespace(ns).
				Create(t.Context(), obj, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
			return err
		}
	}
	t.Fatalf("%s is not a shipped kind", head)
	return nil
}

// Without the commands of the plugin, kubectl can apply the samples, and get, scale, and wait for an ImoocPod.
func TestTutorialObject(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	harness.Must(t, cluster.Kubectl(t, ns, "apply", "--validate=strict", "-k", "../../deploy/samples"))
	cluster.AwaitConverged(t, ns, "imoocpod-sample", 3)
	matches(t, "get imp", harness.Must(t, cluster.Kubectl(t, ns, "get", "imp")), `NAME +DESIRED +CURRENT +READY +AGE
imoocpod-sample +3 +3 +3 +\d+\w*
`)
	if out := harness.Must(t, cluster.Kubectl(t, ns, "scale", "imp", "imoocpod-sample", "--replicas", "1", "--current-replicas", "3")); out != "imoocpod.batch.tutorial.kubebuilder.io/imoocpod-sample scaled\n" {
		t.Errorf("kubectl scale printed %q", out)
	}
	cluster.AwaitConverged(t, ns, "imoocpod-sample", 1)
	// The selector for autoscalers and disruption budgets matches the pods.
	selector := harness.Must(t, cluster.Kubectl(t, ns, "get", "imp", "imoocpod-sample", "--subresource", "scale", "-o", "jsonpath={.status.selector}"))
	if pods := harness.Must(t, cluster.Kubectl(t, ns, "get", "pods", "-l", selector, "-o", "name")); selector == "" || strings.Count(pods, "\n") != 1 {
		t.Errorf("the selector %q selects the pods %q, want one pod", selector, pods)
	}
	harness.Must(t, cluster.Kubectl(t, ns, "wait", "imp/imoocpod-sample", "--for=condition=Ready"))
}

// The server sets missing fields of a manifest, so that autoscalers find a replica count.
func TestDefaults(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	for i, test := range []struct {
		kind       kinds.Kind
		head, rest string
		// spec is the expected spec, or "" for the default spec of an ImoocPod.
		spec string
	}{
		{kinds.ImoocPod(), imoocPod, "", ""},
		{kinds.ImoocPod(), imoocPod, "spec: null", ""},
		{kinds.ImoocPod(), imoocPod, "spec: {replicas: null}", ""},
		{kinds.ImoocPod(), imoocPod, "spec: {template: null}", ""},
		{kinds.AppService(), appService, "spec: {deploymentName: web.v1}", "map[deploymentName:web.v1 image:nginx replicas:1]"},
		{kinds.AppService(), appService, "spec: {deploymentName: web, replicas: null, image: null}", "map[deploymentName:web image:nginx replicas:1]"},
		{kinds.AppService(), appService, "spec: {deploymentName: web, replicas: 0, image: 'a:1'}", "map[deploymentName:web image:a:1 replicas:0]"},
		{kinds.HelloWorld(), helloWorld, "", "map[size:1]"},
		{kinds.HelloWorld(), helloWorld, "spec: null", "map[size:1]"},
		{kinds.HelloWorld(), helloWorld, "spec: {size: 0}", "map[size:0]"},
	} {
		name := fmt.Sprint("object-", i)
		if err := send(t, ns, test.head, name, test.rest); err != nil {
			t.Fatal(err)
		}
		if test.spec == "" {
			spec := cluster.ImoocPod(t, ns, name).Spec
			if spec.Replicas == nil || *spec.Replicas != 1 || !equality.Semantic.DeepEqual(spec.Template, v1alpha1.DefaultTemplate()) {
				t.Errorf("ImoocPod with %q: the spec is %+v, want the default", test.rest, spec)
			}
		} else if spec := fmt.Sprint(cluster.Owner(t, ns, test.kind, name).Get().Object["spec"]); spec != test.spec {
			t.Errorf("%s%s: the spec is %s, want %s", test.head, test.rest, spec, test.spec)
		}
	}
}

func TestServerRejectsShippedKinds(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	const (
		container = "containers: [{name: main, image: web}]"
		policy    = "only the restart policy Always is supported"
		noPods    = "a pod template needs a spec with at least one container"
		noImage   = "spec.image: Required value: image is required"
		noName    = "spec.deploymentName: Required value"
		badName   = "must be the name of a Deployment: lowercase letters, digits, '-', and '.'"
	)
	for i, test := range []struct{ head, rest, says string }{
		{imoocPod, "spec: {replicas: -1}", "spec.replicas: Invalid value: -1"},
		{imoocPod, "spec: {replicas: 2147483648}", "spec.replicas: Invalid value: 2147483648"},
		{imoocPod, "spec: {replicas: three}", "spec.replicas: Invalid value: \"string\""},
		{imoocPod, "spec: {template: {spec: {restartPolicy: Never, " + container + "}}}", policy},
		{imoocPod, "spec: {template: {spec: {restartPolicy: OnFailure, " + container + "}}}", policy},
		{imoocPod, "spec: {template: {}}", "spec.template.spec: Required value: " + noPods},
		{imoocPod, "spec: {template: {metadata: {labels: {a: b}}}}", "spec.template.spec: Required value: " + noPods},
		{imoocPod, "spec: {template: {spec: {containers: []}}}", noPods},
		{imoocPod, "spec: {replica: 3}", `unknown field "spec.replica"`},
		{myDaemonSet, "", noImage},
		{myDaemonSet, "spec: null", noImage},
		{myDaemonSet, "spec: {}", noImage},
		{myDaemonSet, "spec: {image: null}", noImage},
		{myDaemonSet, "spec: {image: ''}", noImage},
		{myDaemonSet, `spec: {image: " \t"}`, noImage},
		{myDaemonSet, "spec: {image: a, size: 3}", `unknown field "spec.size"`},
		{appService, "", "spec: Required value"},
		{appService, "spec: {}", noName},
		{appService, "spec: {replicas: 1}", noName},
		{appService, "spec: {deploymentName: ''}", "spec.deploymentName: Invalid value"},
		{appService, "spec: {deploymentName: Web}", badName},
		{appService, "spec: {deploymentName: web.}", badName},
		{appService, "spec: {deploymentName: " + strings.Repeat("a", 243) + "}", "spec.deploymentName: Too long"},
		{appService, "spec: {deploymentName: web, replicas: -1}", "spec.replicas: Invalid value: -1"},
		{appService, "spec: {deploymentName: web, image: ' '}", "spec.image: Invalid value"},
		{helloWorld, "spec: {size: -1}", "spec.size: Invalid value: -1"},
		{helloWorld, "spec: {size: two}", "spec.size: Invalid value"},
	} {
		if err := send(t, ns, test.head, fmt.Sprint("object-", i), test.rest); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s%s: got error %v, want %q", test.head, test.rest, err, test.says)
		}
	}
	for head, rest := range map[string]string{imoocPod: "", myDaemonSet: "spec: {image: nginx}", appService: "spec: {deploymentName: web}", helloWorld: ""} {
		if err := send(t, ns, head, strings.Repeat("a", 64), rest); err == nil || !strings.Contains(err.Error(), "name must be no longer than 63 characters") {
			t.Errorf("%s with a name of 64 characters: got error %v, want one about the limit of 63", head, err)
		}
	}
	// The server validates updates, too. For example, an update cannot remove an image.
	cluster.Apply(t, ns, manifest(imoocPod, "foo", "")+"---\n"+manifest(myDaemonSet, "agent", "spec: {image: nginx}"))
	for object, test := range map[string]struct{ patch, says string }{
		"imp/foo":           {`{"spec":{"template":{"spec":{"restartPolicy":"Never"}}}}`, policy},
		"mydaemonset/agent": {`{"spec":null}`, "image is required"},
	} {
		if r := cluster.Kubectl(t, ns, "patch", object, "--type", "merge", "-p", test.patch); r.Code == 0 || !strings.Contains(r.Stderr, test.says) {
			t.Errorf("%s: exit code %d, stderr %q, want an error with %q", r.Line, r.Code, r.Stderr, test.says)
		}
	}
	if r := cluster.Kubectl(t, ns, "scale", "imp", "foo", "--replicas", "-1"); r.Code == 0 {
		t.Error("kubectl scale to -1 replicas: got no error, want one")
	}
}
