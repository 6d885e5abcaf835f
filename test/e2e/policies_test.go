package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// The policies of the samples bound what people ask for and what the controller
// does with its rights, and the loop works under both.
func TestPolicies(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	must(t, kubectl(t, "", "apply", "--validate=strict", "-k", "../../deploy/samples/policies"))
	defer kubectl(t, "", "delete", "-k", "../../deploy/samples/policies")
	must(t, kubectl(t, "", "label", "namespace", ns, "imoocpod.dev/bounded=true"))
	const account = "system:serviceaccount:" + system + ":imoocpod-controller"
	must(t, kubectl(t, ns, "create", "rolebinding", "controller", "--clusterrole=cluster-admin", "--user="+account))
	refuses := func(message string, r result) {
		t.Helper()
		if r.code == 0 || !strings.Contains(r.stderr, message) {
			t.Errorf("%s: exit code %d, said %q, want %q", r.line, r.code, r.stderr, message)
		}
	}
	const many, image, other, theirs = "no more than 20 pods", "images must come from registry.example.com", "pods run as the default service account", "writes only what an object of its kinds controls"
	eventually(t, "the policies are in force", func() bool {
		objects := kubectl(t, ns, "imoocpod", "create", "foo", "--replicas", "21", "--image", "registry.k8s.io/pause", "--dry-run=server")
		pods := kubectl(t, ns, "run", "pod", "--image", "nginx", "--as", account, "--dry-run=server")
		return strings.Contains(objects.stderr, many) && strings.Contains(pods.stderr, theirs)
	})

	refuses(image, kubectl(t, ns, "imoocpod", "create", "foo", "--image", "nginx"))
	refuses(image, kubectl(t, ns, "apply", "-f", writeFile(t, manifest(appService, "app", "spec: {deploymentName: web}"))))
	refuses(many, kubectl(t, ns, "apply", "-f", writeFile(t, manifest(helloWorld, "hello", "spec: {size: 21}"))))
	template := `spec: {template: {spec: {serviceAccountName: other, containers: [{name: main, image: registry.k8s.io/pause}]}}}`
	refuses(other, kubectl(t, ns, "apply", "-f", writeFile(t, object("foo", template))))
	template = `spec: {template: {spec: {initContainers: [{name: first, image: nginx}], containers: [{name: main, image: registry.k8s.io/pause}]}}}`
	refuses(image, kubectl(t, ns, "apply", "-f", writeFile(t, object("foo", template))))

	startLoop(t, ns, "--as", account)
	imoocpod(t, ns, "create", "foo", "--replicas", "3", "--image", "registry.k8s.io/pause")
	apply(t, ns, manifest(appService, "app", "spec: {deploymentName: web, image: registry.k8s.io/pause}"))
	converged(t, ns, "foo", 3)
	refuses(many, kubectl(t, ns, "imoocpod", "scale", "foo", "--replicas", "21"))
	imoocpod(t, ns, "scale", "foo", "--replicas", "1")
	converged(t, ns, "foo", 1)
	must(t, kubectl(t, ns, "wait", "appservice/app", "--for=condition=Ready", "--timeout", deadline.String()))

	must(t, kubectl(t, ns, "run", "stranger", "--image", "nginx"))
	refuses(theirs, kubectl(t, ns, "delete", "pod", "stranger", "--as", account))
	reference := fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"batch.tutorial.kubebuilder.io/v1alpha1","kind":"ImoocPod","name":"foo","uid":%q,"controller":true}]}}`,
		getImoocPod(t, ns, "foo").UID)
	refuses(theirs, kubectl(t, ns, "patch", "pod", "stranger", "-p", reference, "--as", account))
	refuses(theirs, kubectl(t, ns, "create", "deployment", "stranger", "--image", "nginx", "--as", account))
}
