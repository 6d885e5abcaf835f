package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
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
		{appService, "spec: {deploymentName: " + strings.Repeat("a", 243) + "}", "spec.deploymentName: Too long"},
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
