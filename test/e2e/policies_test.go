package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// The sample policies restrict the requests of users and the writes of the controller. The controller
// works with these restrictions.
func TestPolicies(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	harness.Must(t, cluster.Kubectl(t, "", "apply", "--validate=strict", "-k", "../../deploy/samples/policies"))
	defer cluster.Kubectl(t, "", "delete", "-k", "../../deploy/samples/policies")
	harness.Must(t, cluster.Kubectl(t, "", "label", "namespace", ns, "imoocpod.dev/bounded=true"))
	const account = "system:serviceaccount:" + deploy.SystemNamespace + ":imoocpod-controller"
	harness.Must(t, cluster.Kubectl(t, ns, "create", "rolebinding", "controller", "--clusterrole=cluster-admin", "--user="+account))
	refuses := func(message string, r harness.Result) {
		t.Helper()
		if r.Code == 0 || !strings.Contains(r.Stderr, message) {
			t.Errorf("%s: exit code %d, stderr %q, want an error with %q", r.Line, r.Code, r.Stderr, message)
		}
	}
	const many, image, other, theirs = "no more than 20 pods", "images must come from registry.example.com", "pods run as the default service account", "writes only what an object of its kinds controls"
	harness.Eventually(t, "the policies are in force", func() bool {
		objects := cluster.Kubectl(t, ns, "imoocpod", "create", "foo", "--replicas", "21", "--image", "registry.k8s.io/pause", "--dry-run=server")
		pods := cluster.Kubectl(t, ns, "run", "pod", "--image", "nginx", "--as", account, "--dry-run=server")
		return strings.Contains(objects.Stderr, many) && strings.Contains(pods.Stderr, theirs)
	})

	refuses(image, cluster.Kubectl(t, ns, "imoocpod", "create", "foo", "--image", "nginx"))
	refuses(image, cluster.Kubectl(t, ns, "apply", "-f", harness.WriteFile(t, manifest(appService, "app", "spec: {deploymentName: web}"))))
	refuses(many, cluster.Kubectl(t, ns, "apply", "-f", harness.WriteFile(t, manifest(helloWorld, "hello", "spec: {size: 21}"))))
	template := `spec: {template: {spec: {serviceAccountName: other, containers: [{name: main, image: registry.k8s.io/pause}]}}}`
	refuses(other, cluster.Kubectl(t, ns, "apply", "-f", harness.WriteFile(t, harness.ImoocPodManifest("foo", template))))
	template = `spec: {template: {spec: {serviceAccount: other, containers: [{name: main, image: registry.k8s.io/pause}]}}}`
	refuses(other, cluster.Kubectl(t, ns, "apply", "-f", harness.WriteFile(t, harness.ImoocPodManifest("foo", template))))
	template = `spec: {template: {spec: {initContainers: [{name: first, image: nginx}], containers: [{name: main, image: registry.k8s.io/pause}]}}}`
	refuses(image, cluster.Kubectl(t, ns, "apply", "-f", harness.WriteFile(t, harness.ImoocPodManifest("foo", template))))

	cluster.StartRunController(t, ns, "--as", account)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "3", "--image", "registry.k8s.io/pause")
	cluster.Apply(t, ns, manifest(appService, "app", "spec: {deploymentName: web, image: registry.k8s.io/pause}"))
	cluster.AwaitConverged(t, ns, "foo", 3)
	refuses(many, cluster.Kubectl(t, ns, "imoocpod", "scale", "foo", "--replicas", "21"))
	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "1")
	cluster.AwaitConverged(t, ns, "foo", 1)
	harness.Must(t, cluster.Kubectl(t, ns, "wait", "appservice/app", "--for=condition=Ready", "--timeout", harness.Timeout.String()))

	harness.Must(t, cluster.Kubectl(t, ns, "run", "stranger", "--image", "nginx"))
	refuses(theirs, cluster.Kubectl(t, ns, "delete", "pod", "stranger", "--as", account))
	reference := fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"batch.tutorial.kubebuilder.io/v1alpha1","kind":"ImoocPod","name":"foo","uid":%q,"controller":true}]}}`,
		cluster.ImoocPod(t, ns, "foo").UID)
	refuses(theirs, cluster.Kubectl(t, ns, "patch", "pod", "stranger", "-p", reference, "--as", account))
	refuses(theirs, cluster.Kubectl(t, ns, "create", "deployment", "stranger", "--image", "nginx", "--as", account))
}
