package clusterwide

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// A deletion or upgrade of the controller never deletes users' objects, not even in the
// controller's own namespace.
func TestDeployKeepsObjects(t *testing.T) {
	ns := cluster.NewNamespace(t)
	kustomize := func(verb string, args ...string) {
		t.Helper()
		r := cluster.Kubectl(t, "", append([]string{verb}, args...)...)
		harness.Must(t, r)
		if r.Stderr != "" {
			t.Errorf("%s: stderr %q, want none", r.Line, r.Stderr)
		}
	}
	kustomize("apply", "--server-side", "--force-conflicts", "--validate=strict", "-k", "../../../deploy/crds")
	for _, namespace := range []string{ns, deploy.SystemNamespace} {
		harness.Must(t, cluster.Kubectl(t, namespace, "apply", "--validate=strict", "-k", "../../../deploy/samples"))
		defer cluster.Kubectl(t, namespace, "delete", "-k", "../../../deploy/samples")
	}
	before := shippedObjects(t, ns, deploy.SystemNamespace)

	kustomize("apply", "--validate=strict", "-k", "../../../deploy")
	// A namespace with the restricted Pod Security level admits the pods of the controller.
	harness.Must(t, cluster.Kubectl(t, deploy.SystemNamespace, "rollout", "status", "deployment/imoocpod-controller", "--timeout", harness.Timeout.String()))
	kustomize("apply", "--validate=strict", "-k", "../../../deploy")
	kustomize("delete", "-k", "../../../deploy")
	if after := shippedObjects(t, ns, deploy.SystemNamespace); !maps.Equal(before, after) {
		t.Errorf("objects after the controller was deleted = %v, want %v", after, before)
	}
}

// A team can run its own controller next to other controllers, with only the necessary permissions (docs/teams.md).
func TestDeployForATeam(t *testing.T) {
	cluster.InstallCRDs(t)
	_, doc, _ := strings.Cut(harness.ReadFile(t, "../../../docs/teams.md"), "# team-a/kustomization.yaml")
	doc, _, found := strings.Cut(doc, "```")
	if !found {
		t.Fatal("docs/teams.md has no kustomization for a team")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir+"/deploy", os.DirFS("../../../deploy")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir+"/team-a", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/team-a/kustomization.yaml", []byte("#"+doc), 0o600); err != nil {
		t.Fatal(err)
	}
	harness.Must(t, cluster.Kubectl(t, "", "apply", "-f", "../../../deploy/crds/namespace.yaml"))
	for _, of := range []string{"team-a", "deploy"} {
		harness.Must(t, cluster.Kubectl(t, "", "apply", "--validate=strict", "-k", dir+"/"+of))
		defer func() { harness.Must(t, cluster.Kubectl(t, "", "delete", "-k", dir+"/"+of)) }()
	}
	harness.Must(t, cluster.Kubectl(t, deploy.SystemNamespace, "rollout", "status", "deployment/imoocpod-controller-team-a", "--timeout", harness.Timeout.String()))
	harness.Must(t, cluster.Kubectl(t, deploy.SystemNamespace, "rollout", "status", "deployment/imoocpod-controller", "--timeout", harness.Timeout.String()))
	if out := harness.Must(t, cluster.Kubectl(t, deploy.SystemNamespace, "get", "pods", "-l", "team=a", "-o", "jsonpath={.items[*].spec.containers[*].args}")); strings.Count(out, `"--selector=team=a"`) != 2 {
		t.Errorf("arguments of the team's controller = %s, want --selector=team=a twice", out)
	}
	account := "system:serviceaccount:" + deploy.SystemNamespace + ":imoocpod-controller-team-a"
	ns := cluster.NewNamespace(t)
	cluster.StartPlugin(t, "run-controller", "--all-namespaces", "--selector=team=a", "--as", account)
	for _, team := range []string{"b", "a"} {
		cluster.Imoocpod(t, ns, "create", "foo-"+team, "--replicas", "1")
		harness.Must(t, cluster.Kubectl(t, ns, "label", "imoocpod", "foo-"+team, "team="+team))
	}
	cluster.AwaitConverged(t, ns, "foo-a", 1)
	// The server requires more permissions for a blocking owner reference, and for an apply that creates an object.
	cluster.Apply(t, ns, "{apiVersion: appcontroller.k8s.io/v1alpha1, kind: AppService, metadata: {name: app, labels: {team: a}}, spec: {deploymentName: web}}")
	cluster.Apply(t, ns, "{apiVersion: apps.zhongmingmao.io/v1beta1, kind: MyDaemonSet, metadata: {name: agent, labels: {team: a}}, spec: {image: nginx}}")
	harness.Must(t, cluster.Kubectl(t, ns, "wait", "appservice/app", "mydaemonset/agent", "--for=condition=Ready", "--timeout", harness.Timeout.String()))
	if other := cluster.ImoocPod(t, ns, "foo-b"); other.Status.ObservedGeneration != 0 {
		t.Errorf("the object of team b was reconciled: status %+v", other.Status)
	}
	cluster.Imoocpod(t, ns, "delete", "imoocpod/foo-a", "imoocpod/foo-b", "appservice/app", "mydaemonset/agent")
}

// shippedObjects returns the types and names of the objects of shipped kinds in the given namespaces, by UID.
func shippedObjects(t *testing.T, namespaces ...string) map[string]string {
	t.Helper()
	crds := deploy.CRDs()
	found := map[string]string{}
	for _, crd := range crds {
		name := crd.GetName()
		for _, namespace := range namespaces {
			list := harness.Must(t, cluster.Kubectl(t, namespace, "get", name, "-o", `jsonpath={range .items[*]}{.metadata.uid} {.metadata.namespace}/{.metadata.name}{"\n"}{end}`))
			for line := range strings.Lines(list) {
				uid, object, _ := strings.Cut(strings.TrimSpace(line), " ")
				found[uid] = name + " " + object
			}
		}
		if !slices.ContainsFunc(slices.Collect(maps.Values(found)), func(object string) bool { return strings.HasPrefix(object, name) }) {
			t.Errorf("there are no objects of %s", name)
		}
	}
	return found
}

// form is one way to install the controller.
type form struct {
	// where holds the flags that select the controller. user holds the flags that select the user.
	where, user string
	namespace   string
}

// run runs a command of the plugin with the flags that select the controller and the user.
func (f form) run(t *testing.T, verb string) harness.Result {
	t.Helper()
	return cluster.Kubectl(t, "", harness.Words("imoocpod "+verb+" "+f.where+" "+f.user)...)
}

const controllerDeployment = "deployment.apps/imoocpod-controller"

// TestInstallController installs and removes a controller, and checks the output of each verb. An
// administrator of the cluster does this for all namespaces, and an administrator of a namespace does it
// for this namespace.
func TestInstallController(t *testing.T) {
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "foo")
	harness.Must(t, cluster.Kubectl(t, ns, "create", "rolebinding", "lead", "--clusterrole=admin", "--user=lead"))
	everywhere := form{where: "-A", namespace: deploy.SystemNamespace}
	everywhere.installs(t)
	peopleMay(t, ns)
	// The administrator of the namespace has the rights that the first installation has added to the role admin.
	own := form{where: "-n " + ns, user: "--as lead", namespace: ns}
	own.installs(t)
	own.uninstalls(t)
	everywhere.uninstalls(t)
	cluster.ImoocPod(t, ns, "foo")
	cluster.Imoocpod(t, ns, "delete", "foo")
}

// peopleMay checks the permissions of the built-in ClusterRoles view and edit for the shipped kinds.
func peopleMay(t *testing.T, ns string) {
	t.Helper()
	for _, role := range []string{"view", "edit"} {
		harness.Must(t, cluster.Kubectl(t, ns, "create", "rolebinding", role, "--clusterrole="+role, "--user="+role+"-"+ns))
	}
	for _, kind := range kinds.Shipped() {
		resource := kind.Resource.Resource
		for right, wants := range map[string]struct{ view, edit bool }{
			"watch " + resource:             {true, true},
			"get " + resource + "/status":   {true, true},
			"create " + resource:            {false, true},
			"delete " + resource:            {false, true},
			"patch " + resource + "/status": {false, false},
			// One kind has no replica count.
			"get " + resource + "/scale":   {len(kind.ReplicasPath) > 0, len(kind.ReplicasPath) > 0},
			"patch " + resource + "/scale": {false, len(kind.ReplicasPath) > 0},
		} {
			for role, want := range map[string]bool{"view": wants.view, "edit": wants.edit} {
				harness.Eventually(t, fmt.Sprintf("the permission of %s to %s is %v", role, right, want), func() bool {
					return may(t, role+"-"+ns, ns, kind.Resource.Group, right) == want
				})
			}
		}
	}
}

// may reports whether a user has a permission, such as "patch imoocpods/status".
func may(t *testing.T, user, namespace, group, right string) bool {
	t.Helper()
	verb, resource, _ := strings.Cut(right, " ")
	resource, subresource, _ := strings.Cut(resource, "/")
	reviews := cluster.Dynamic.Resource(schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "subjectaccessreviews"})
	answer, err := reviews.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": map[string]any{
			"user": user, "resourceAttributes": map[string]any{
				"namespace": namespace, "group": group, "resource": resource, "subresource": subresource, "verb": verb,
			},
		},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	allowed, _, err := unstructured.NestedBool(answer.Object, "status", "allowed")
	if err != nil {
		t.Fatal(err)
	}
	return allowed
}

func (f form) installs(t *testing.T) {
	t.Helper()
	out := harness.Must(t, f.run(t, "install --controller --image example.com/c:v1 --replicas 3"))
	if !strings.Contains(out, controllerDeployment+" created\n") || !strings.Contains(out, "serviceaccount/imoocpod-controller created\n") {
		t.Errorf("the first install printed %q", out)
	}
	// The command returns after the controller is available.
	got := harness.Must(t, cluster.Kubectl(t, f.namespace, "get", controllerDeployment, "-o", "jsonpath={.spec.replicas} {..image} {.status.availableReplicas}"))
	if got != "3 example.com/c:v1 3" {
		t.Errorf("replicas, image, and available replicas of the Deployment = %q, want 3, example.com/c:v1, and 3", got)
	}
	for dryRun, suffix := range map[string]string{"": " unchanged\n", " --dry-run=server": " unchanged (server dry run)\n"} {
		for line := range strings.Lines(harness.Must(t, f.run(t, "install --controller --image example.com/c:v1 --replicas 3"+dryRun))) {
			if !strings.HasSuffix(line, suffix) {
				t.Errorf("repeated install%s printed %q, want a line that ends with %q", dryRun, line, suffix)
			}
		}
	}
}

func (f form) uninstalls(t *testing.T) {
	t.Helper()
	if out := harness.Must(t, f.run(t, "uninstall")); !strings.Contains(out, controllerDeployment+" deleted\n") || strings.Contains(out, "namespace/") {
		t.Errorf("uninstall printed %q", out)
	}
	left := harness.Must(t, cluster.Kubectl(t, f.namespace, "get", "pods,deployments,roles,poddisruptionbudgets,networkpolicies,services", "-o", "name", "-l", deploy.ControllerLabel))
	if left != "" {
		t.Errorf("objects of the controller after uninstall = %q, want none", left)
	}
	if out := harness.Must(t, f.run(t, "uninstall")); !strings.HasPrefix(out, "no controller is installed for ") {
		t.Errorf("the second uninstall printed %q", out)
	}
}
