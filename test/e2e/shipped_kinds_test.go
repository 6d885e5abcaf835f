package e2e

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// The first lines of manifests of the kinds other than ImoocPod.
const (
	appService  = "apiVersion: appcontroller.k8s.io/v1alpha1\nkind: AppService\n"
	helloWorld  = "apiVersion: test.jiaozi.com/v1alpha1\nkind: HelloWorld\n"
	myDaemonSet = "apiVersion: apps.zhongmingmao.io/v1beta1\nkind: MyDaemonSet\n"
)

// manifest returns a manifest from its first lines, a name, and the rest.
func manifest(head, name, rest string) string {
	return fmt.Sprintf("%smetadata: {name: %q}\n%s\n", head, name, rest)
}

// Manifests written for the tutorials work unchanged, and omitted fields are defaulted,
// so that autoscalers find a count.
func TestSamplesAndDefaults(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	harness.Must(t, cluster.Kubectl(t, ns, "apply", "--validate=strict", "-k", "../../deploy/samples"))
	for name, test := range map[string]struct{ head, rest, spec, scale string }{
		"app-named":    {appService, "spec: {deploymentName: web.v1}", `{"deploymentName":"web.v1","image":"nginx","replicas":1}`, "1"},
		"app-null":     {appService, "spec: {deploymentName: web, replicas: null, image: null}", `{"deploymentName":"web","image":"nginx","replicas":1}`, "1"},
		"app-none":     {appService, "spec: {deploymentName: web, replicas: 0, image: 'a:1'}", `{"deploymentName":"web","image":"a:1","replicas":0}`, ""},
		"hello-absent": {helloWorld, "", `{"size":1}`, "1"},
		"hello-null":   {helloWorld, "spec: null", `{"size":1}`, "1"},
		"hello-zero":   {helloWorld, "spec: {size: 0}", `{"size":0}`, ""},
	} {
		cluster.Apply(t, ns, manifest(test.head, name, test.rest))
		resource := map[string]string{appService: "appservice", helloWorld: "helloworld"}[test.head]
		if spec := harness.Must(t, cluster.Kubectl(t, ns, "get", resource, name, "-o", "jsonpath={.spec}")); spec != test.spec {
			t.Errorf("the spec of %s is %s, want %s", name, spec, test.spec)
		}
		if n := harness.Must(t, cluster.Kubectl(t, ns, "get", resource, name, "--subresource", "scale", "-o", "jsonpath={.spec.replicas}")); n != test.scale {
			t.Errorf("the scale of %s is %q, want %s", name, n, test.scale)
		}
	}
}

// Manifests that can never work are rejected with a message.
func TestServerRejectsShippedKinds(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	long := strings.Repeat("a", 64)
	const (
		noImage = "spec.image: Required value: image is required"
		noName  = "spec.deploymentName: Required value"
		badName = "must be the name of a Deployment: lowercase letters, digits, '-', and '.'"
	)
	for i, test := range []struct{ head, rest, says string }{
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
		{appService, "spec: {deploymentName: " + strings.Repeat("a", 243) + "}", "may not be more than 242"},
		{appService, "spec: {deploymentName: web, replicas: -1}", "spec.replicas: Invalid value: -1"},
		{appService, "spec: {deploymentName: web, image: ' '}", "spec.image: Invalid value"},
		{helloWorld, "spec: {size: -1}", "spec.size: Invalid value: -1"},
		{helloWorld, "spec: {size: two}", "spec.size: Invalid value"},
	} {
		r := cluster.Kubectl(t, ns, "apply", "-f", harness.WriteFile(t, manifest(test.head, fmt.Sprint("object-", i), test.rest)))
		if r.Code == 0 || !strings.Contains(r.Stderr, test.says) {
			t.Errorf("%s%s: exit code %d, said %q, want %q in it", test.head, test.rest, r.Code, r.Stderr, test.says)
		}
	}
	for head, rest := range map[string]string{
		myDaemonSet: "spec: {image: nginx}", appService: "spec: {deploymentName: web}", helloWorld: "spec: {size: 1}",
	} {
		r := cluster.Kubectl(t, ns, "apply", "-f", harness.WriteFile(t, manifest(head, long, rest)))
		if r.Code == 0 || !strings.Contains(r.Stderr, "name must be no longer than 63 characters") {
			t.Errorf("%s: exit code %d, said %q", head, r.Code, r.Stderr)
		}
	}
	// An image, once set, cannot be removed.
	cluster.Apply(t, ns, manifest(myDaemonSet, "agent", "spec: {image: nginx}"))
	r := cluster.Kubectl(t, ns, "patch", "mydaemonset", "agent", "--type", "merge", "-p", `{"spec":null}`)
	if r.Code == 0 || !strings.Contains(r.Stderr, "image is required") {
		t.Errorf("exit code %d, said %q", r.Code, r.Stderr)
	}
}

// create sets the fields given by flags for each kind, and refuses flags that do not
// apply to it before sending a request.
func TestCreateShippedKinds(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	for args, want := range map[string][2]string{
		"appservice/a": {"appservice.appcontroller.k8s.io/a created\n", `{"deploymentName":"a","image":"nginx","replicas":1}`},
		"appservices/b --replicas 0 --image web:1 --set-string .spec.deploymentName=front": {"appservice.appcontroller.k8s.io/b created\n", `{"deploymentName":"front","image":"web:1","replicas":0}`},
		"helloworld/hi --replicas 3":      {"helloworld.test.jiaozi.com/hi created\n", `{"size":3}`},
		"helloworlds.test.jiaozi.com/one": {"helloworld.test.jiaozi.com/one created\n", `{"size":1}`},
		"mydaemonset/agent --image web:1": {"mydaemonset.apps.zhongmingmao.io/agent created\n", `{"image":"web:1"}`},
	} {
		if out := cluster.Imoocpod(t, ns, append([]string{"create"}, harness.Words(args)...)...); out != want[0] {
			t.Errorf("create %s printed %q, want %q", args, out, want[0])
		}
		if spec := harness.Must(t, cluster.Kubectl(t, ns, "get", harness.Words(args)[0], "-o", "jsonpath={.spec}")); spec != want[1] {
			t.Errorf("create %s made the spec %s, want %s", args, spec, want[1])
		}
	}
	before := shippedVersions(t, ns)
	var refusals []refusal
	for args, says := range map[string]string{
		"helloworld/no --image web":                          "--image cannot be used for the kind HelloWorld, which always runs nginx",
		"helloworld/no -- sleep 60":                          "the kind HelloWorld runs the command of its image",
		"mydaemonset/no --image web --replicas 2":            "--replicas cannot be used for the kind MyDaemonSet, which runs one pod per node",
		"appservice/no --replicas 2 --replicas-path .spec.a": "--replicas-path cannot be used for the kind AppService",
		"appservice/" + strings.Repeat("a", 64):              "it must be no longer than 63 characters",
		"appservice/no --replicas -1":                        "must be a whole number from 0",
	} {
		refusals = append(refusals, refusal{args: "create " + args, code: harness.ExitUsage, says: []string{says}})
	}
	refusals = append(refusals,
		refusal{args: "create mydaemonset/no", code: harness.ExitError, says: []string{`The MyDaemonSet "no" is invalid: spec.image: Required value: image is required`}},
		refusal{args: "create appservice/no --set-string .spec.deploymentName=A", code: harness.ExitError, says: []string{"must be the name of a Deployment"}},
		refusal{args: "create appservice/a", code: harness.ExitPrecondition, says: []string{"already exists"}})
	t.Run("refused", func(t *testing.T) { mustRefuse(t, ns, refusals) })
	if after := shippedVersions(t, ns); !maps.Equal(before, after) {
		t.Errorf("after the refused commands there are %v, before %v", after, before)
	}
}

// shippedVersions returns the resourceVersions of the objects of the kinds other than
// ImoocPod.
func shippedVersions(t *testing.T, namespace string) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for _, kind := range kinds.Shipped()[1:] {
		list, err := cluster.Dynamic.Resource(kind.Resource).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, obj := range list.Items {
			versions[kind.String()+"/"+obj.GetName()] = obj.GetResourceVersion()
		}
	}
	return versions
}

// Kinds with a count are scaled in one request; kinds with a pod per node cannot be
// scaled.
func TestScaleShippedKinds(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "appservice/foo")
	cluster.Imoocpod(t, ns, "create", "helloworld/hi")
	cluster.Imoocpod(t, ns, "create", "mydaemonset/agent", "--image", "nginx")
	const said = "appservice.appcontroller.k8s.io/foo scaled\nhelloworld.test.jiaozi.com/hi scaled\n"
	r := cluster.Kubectl(t, ns, "imoocpod", "scale", "appservice/foo", "helloworld/hi", "--replicas", "3")
	says := "NAME             BEFORE   AFTER\nappservice/foo   1        3\nhelloworld/hi    1        3\nappservice/foo: 1 → 3\n" + noLoop("appservices", ns) + "helloworld/hi: 1 → 3\n" + noLoop("helloworlds", ns)
	if harness.Must(t, r) != said || r.Stderr != says {
		t.Errorf("printed %q, said %q", r.Stdout, r.Stderr)
	}
	for object, path := range map[string]string{"appservice/foo": ".spec.replicas", "helloworld/hi": ".spec.size"} {
		if n := harness.Must(t, cluster.Kubectl(t, ns, "get", object, "-o", "jsonpath={"+path+"}")); n != "3" {
			t.Errorf("%s has a count of %s, want 3", object, n)
		}
	}
	cluster.Imoocpod(t, ns, "scale", "helloworld/hi", "--current-replicas", "3", "--by", "-2")
	if n := cluster.Imoocpod(t, ns, "scale", "helloworld/hi", "--replicas", "5", "--dry-run=client", "-o", "jsonpath={.spec.size}"); n != "5" {
		t.Errorf("the dry run shows a count of %s, want 5", n)
	}
	if n := harness.Must(t, cluster.Kubectl(t, ns, "get", "helloworld/hi", "-o", "jsonpath={.spec.size}")); n != "1" {
		t.Errorf("the count is %s, want 1", n)
	}
	for _, r := range cluster.Requests(t, ns, func(r harness.Request) bool {
		return r.Verb == "patch" && strings.HasPrefix(r.UserAgent, "kubectl-imoocpod")
	}) {
		if r.Object.Subresource != "" { // a patch of the object records the old count with the new one
			t.Errorf("scale sent %+v", r)
		}
	}

	before := shippedVersions(t, ns)
	const refused = "error: mydaemonset/agent cannot be scaled: it runs one pod per node"
	for _, rest := range []string{"\n", " (7 now)\n"} {
		if rest != "\n" {
			harness.Must(t, cluster.Kubectl(t, ns, "patch", "mydaemonset", "agent", "--subresource", "status", "--type", "merge", "-p", `{"status":{"desiredNumberScheduled":7}}`))
			before = shippedVersions(t, ns)
		}
		for _, flags := range []string{"--replicas 3", "--by +1", "--replicas 3 --dry-run=client"} {
			r := cluster.Kubectl(t, ns, append([]string{"imoocpod", "scale", "mydaemonset/agent"}, harness.Words(flags)...)...)
			if r.Code != harness.ExitError || r.Stdout != "" || r.Stderr != refused+rest {
				t.Errorf("%s: exit code %d, printed %q, said %q, want %q", flags, r.Code, r.Stdout, r.Stderr, refused+rest)
			}
		}
	}
	if r := cluster.Kubectl(t, ns, "imoocpod", "scale", "mydaemonset/no", "helloworld/no", "--replicas", "1"); r.Code != harness.ExitNotFound || strings.Count(r.Stderr, "NotFound") != 2 {
		t.Errorf("exit code %d, said %q", r.Code, r.Stderr)
	}
	if after := shippedVersions(t, ns); !maps.Equal(before, after) {
		t.Errorf("after the refused commands there are %v, before %v", after, before)
	}
}
