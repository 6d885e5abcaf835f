package e2e

import (
	"context"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// deployed is a controller that runs on this machine with the arguments, the service account, and
// the rights in its manifests.
type deployed struct {
	namespace string
	// kubeconfig is the path of a kubeconfig with the credentials and the namespace of the
	// service account. client uses these credentials.
	kubeconfig string
	client     dynamic.Interface
	args       []string
	rules      []rbacv1.PolicyRule
}

// deployAs creates everything that the controller needs except its Deployment.
func deployAs(t *testing.T, settings deploy.Settings) *deployed {
	t.Helper()
	d := &deployed{namespace: settings.Namespace}
	objs, err := deploy.Controller(settings)
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range objs {
		switch kind := obj.GetKind(); {
		case kind == "Deployment":
			d.args = localArgs(t, argsOf(t, obj))
			continue
		case kind == "ClusterRole" && obj.GetName() != deploy.ControllerName:
			continue // for users
		case kind == "ClusterRole", kind == "Role" && !settings.AllNamespaces:
			d.rules = rulesOf(t, obj)
		case !slices.Contains([]string{"ServiceAccount", "Role", "RoleBinding", "ClusterRoleBinding"}, kind):
			continue
		}
		create(t, obj)
	}
	d.signIn(t)
	harness.Eventually(t, "the controller has its rights, and no others", func() bool {
		return maps.Equal(d.mayDo(t, d.namespace), ruleSet(append(d.rules, ofEverybody()...)))
	})
	return d
}

// create creates an object, and deletes it when the test ends, unless it is already gone.
func create(t *testing.T, obj *unstructured.Unstructured) {
	t.Helper()
	resource, _ := meta.UnsafeGuessKindToResource(obj.GroupVersionKind())
	objects := cluster.Dynamic.Resource(resource).Namespace(obj.GetNamespace())
	if _, err := objects.Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := objects.Delete(context.Background(), obj.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
}

func (d *deployed) start(t *testing.T) *harness.Process {
	t.Helper()
	return cluster.StartPlugin(t, append(slices.Clone(d.args), "--kubeconfig", d.kubeconfig)...)
}

func (d *deployed) user() string {
	return "system:serviceaccount:" + d.namespace + ":" + deploy.ControllerName
}

func rulesOf(t *testing.T, obj *unstructured.Unstructured) []rbacv1.PolicyRule {
	t.Helper()
	var role rbacv1.ClusterRole
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &role); err != nil {
		t.Fatal(err)
	}
	return role.Rules
}

func argsOf(t *testing.T, deployment *unstructured.Unstructured) []string {
	t.Helper()
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 {
		t.Fatalf("the Deployment has the containers %v (%v)", containers, err)
	}
	container, ok := containers[0].(map[string]any)
	args, _, err := unstructured.NestedStringSlice(container, "args")
	if !ok || err != nil {
		t.Fatalf("the Deployment has the container %v (%v)", containers[0], err)
	}
	return args
}

// localArgs replaces the addresses in the arguments of a pod with free ports on loopback, so that
// several copies can run on one machine.
func localArgs(t *testing.T, args []string) []string {
	t.Helper()
	local := slices.Clone(args)
	for i, arg := range args {
		if flag, address, found := strings.Cut(arg, "="); found && strings.HasSuffix(flag, "-bind-address") {
			if _, port, err := net.SplitHostPort(address); err != nil || port == "0" {
				t.Errorf("%s is no address for a pod to serve on (%v)", arg, err)
			}
			local[i] = flag + "=127.0.0.1:0"
		}
	}
	return local
}

// signIn requests a token of the service account, and sets d.kubeconfig and d.client to use it.
func (d *deployed) signIn(t *testing.T) {
	t.Helper()
	request, err := cluster.Core.ServiceAccounts(d.namespace).CreateToken(t.Context(), deploy.ControllerName, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(cluster.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	current := config.Contexts[config.CurrentContext]
	config.AuthInfos[current.AuthInfo] = &clientcmdapi.AuthInfo{Token: request.Status.Token}
	current.Namespace = d.namespace
	data, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	d.kubeconfig = harness.WriteFile(t, string(data))
	as := rest.AnonymousClientConfig(cluster.Config)
	as.BearerToken = request.Status.Token
	if d.client, err = dynamic.NewForConfig(as); err != nil {
		t.Fatal(err)
	}
}

// mayDo returns the rules that the server reports for the controller in a namespace, as a ruleSet.
func (d *deployed) mayDo(t *testing.T, namespace string) map[string]bool {
	t.Helper()
	reviews := d.client.Resource(schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectrulesreviews"})
	answer, err := reviews.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": map[string]any{"namespace": namespace},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var review authorizationv1.SelfSubjectRulesReview
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(answer.Object, &review); err != nil {
		t.Fatal(err)
	}
	if review.Status.Incomplete {
		t.Fatalf("the server does not know all rights: %s", review.Status.EvaluationError)
	}
	var rules []rbacv1.PolicyRule
	for _, r := range review.Status.ResourceRules {
		if slices.Equal(r.Resources, []string{"clustertrustbundles"}) {
			continue // since Kubernetes 1.37, every service account can read them
		}
		rules = append(rules, rbacv1.PolicyRule{Verbs: r.Verbs, APIGroups: r.APIGroups, Resources: r.Resources, ResourceNames: r.ResourceNames})
	}
	return ruleSet(rules)
}

// ofEverybody returns the rules that RBAC grants to all authenticated users.
func ofEverybody() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{Verbs: []string{"create"}, APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"selfsubjectaccessreviews", "selfsubjectrulesreviews"}},
		{Verbs: []string{"create"}, APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"selfsubjectreviews"}},
	}
}

func ruleSet(rules []rbacv1.PolicyRule) map[string]bool {
	set := map[string]bool{}
	for _, rule := range rules {
		set[rule.String()] = true
	}
	return set
}

// rights expands rules to rights such as "patch batch.tutorial.kubebuilder.io/imoocpods/status".
func rights(rules []rbacv1.PolicyRule) map[string]bool {
	all := map[string]bool{}
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all[verb+" "+group+"/"+resource] = true
				}
			}
		}
	}
	return all
}

// asked returns the rights that the requests of a user in a namespace needed, formatted as in the
// result of the function rights. The user can be impersonated.
func asked(t *testing.T, namespace, user string) (allowed, refused map[string]bool) {
	t.Helper()
	allowed, refused = map[string]bool{}, map[string]bool{}
	byUser := func(r harness.Request) bool {
		return r.User.Username == user || r.ImpersonatedUser != nil && r.ImpersonatedUser.Username == user
	}
	for _, r := range cluster.Requests(t, namespace, byUser) {
		right := r.Verb + " " + r.Object.Group + "/" + r.Resource()
		if r.Annotations["authorization.k8s.io/decision"] == "allow" {
			allowed[right] = true
		} else {
			refused[right] = true
		}
	}
	return allowed, refused
}

// The service account of the controller has exactly the rights that the controller needs.
func TestLeastRights(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	driver := cluster.NewDriver(t, ns, w)
	d := deployAs(t, deploy.Settings{Namespace: ns})
	if other := d.mayDo(t, "default"); !maps.Equal(other, ruleSet(ofEverybody())) {
		t.Errorf("in another namespace it may do %q", slices.Sorted(maps.Keys(other)))
	}
	// The Role of a namespace cannot grant rights on nodes, so grant these separately.
	harness.Must(t, cluster.Kubectl(t, "", "create", "clusterrole", ns, "--verb=list,watch", "--resource=nodes"))
	harness.Must(t, cluster.Kubectl(t, "", "create", "clusterrolebinding", ns, "--clusterrole="+ns, "--serviceaccount="+ns+":"+deploy.ControllerName))
	defer cluster.Kubectl(t, "", "delete", "clusterrole/"+ns, "clusterrolebinding/"+ns)
	quota(t, ns, "1")
	l := d.start(t)
	driver.Create(2)
	harness.Eventually(t, "events keep reporting the refusal", func() bool {
		list, err := cluster.Core.Events(ns).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=FailedCreate"})
		return err == nil && len(list.Items) > 0 && list.Items[0].Count > 1
	})
	quota(t, ns, "20")
	w.AwaitConverged(t, "foo", 2)
	harness.Must(t, cluster.Kubectl(t, ns, "label", "pod", w.Owned("foo")[0].Name, apis.LabelOwner+"-"))
	harness.Eventually(t, "the pod has its label again", func() bool {
		return harness.Must(t, cluster.Kubectl(t, ns, "get", "pods", "-o", "name", "-l", "!"+apis.LabelOwner)) == ""
	})
	foo := cluster.Owner(t, ns, kinds.ImoocPod(), "foo").Get()
	taken := takeSlot(t, ns, foo, 2)
	driver.Scale(3)
	harness.Must(t, cluster.Kubectl(t, ns, "wait", "imoocpod/foo", "--for=condition=ReplicaFailure", "--timeout", harness.Timeout.String()))
	harness.Must(t, cluster.Kubectl(t, ns, "delete", "pod", taken))
	driver.Scale(1)
	w.AwaitConverged(t, "foo", 1)
	changesHistory(t, ns, cluster.Owner(t, ns, kinds.ImoocPod(), "foo").Get())
	reconcilesByDeployment(t, ns)
	cluster.Apply(t, ns, manifest(myDaemonSet, "daemon", "spec: {image: nginx}"))
	harness.Must(t, cluster.Kubectl(t, ns, "wait", "mydaemonset/daemon", "--for=condition=Ready", "--timeout", harness.Timeout.String()))
	if code := l.Stop(); code != 0 {
		t.Errorf("the loop ended with exit code %d", code)
	}

	want := rights(d.rules)
	maps.DeleteFunc(want, func(right string, _ bool) bool { return askedByServer(right) })
	var allowed, refused map[string]bool
	harness.Eventually(t, "the watches of the loop have been logged, which happens when they end", func() bool {
		allowed, refused = asked(t, ns, d.user())
		for right := range want {
			if strings.HasPrefix(right, "watch ") && !allowed[right] {
				return false
			}
		}
		return true
	})
	if !maps.Equal(allowed, want) {
		t.Errorf("it used the rights %q, and has %q", slices.Sorted(maps.Keys(allowed)), slices.Sorted(maps.Keys(want)))
	}
	// Ignore forbidden requests that the controller does not need.
	maps.DeleteFunc(refused, func(right string, _ bool) bool {
		return right == "get /namespaces" || right == "list coordination.k8s.io/leases"
	})
	if len(refused) > 0 {
		t.Errorf("it asked for %q, which it has no right to", slices.Sorted(maps.Keys(refused)))
	}
}

// With the cluster-wide manifests, the controller works in all namespaces and on nodes. It reconciles
// all objects, so this test runs before the parallel tests.
func TestLeastRightsInAllNamespaces(t *testing.T) {
	ns, other := cluster.NewNamespace(t), cluster.NewNamespace(t)
	d := deployAs(t, deploy.Settings{Namespace: ns, AllNamespaces: true})
	l := d.start(t)
	cluster.Imoocpod(t, other, "create", "foo", "--replicas", "2")
	cluster.Apply(t, ns, manifest(myDaemonSet, "daemon", "spec: {image: nginx}"))
	cluster.AwaitConverged(t, other, "foo", 2)
	harness.Must(t, cluster.Kubectl(t, ns, "wait", "mydaemonset/daemon", "--for=condition=Ready", "--timeout", harness.Timeout.String()))
	if code := l.Stop(); code != 0 {
		t.Errorf("the loop ended with exit code %d", code)
	}
	var allowed, refused map[string]bool
	harness.Eventually(t, "the watch of nodes has been logged, which happens when it ends", func() bool {
		allowed, refused = asked(t, "", d.user())
		return allowed["watch /nodes"]
	})
	want := rights(append(d.rules, ofEverybody()...))
	for right := range allowed {
		if !want[right] {
			t.Errorf("it used the right to %s, which is not in its rules", right)
		}
	}
	if delete(refused, "list coordination.k8s.io/leases"); len(refused) > 0 {
		t.Errorf("it asked for %q, which it has no right to", slices.Sorted(maps.Keys(refused)))
	}
}

// askedByServer reports whether the server itself checks a right while it handles another request, so
// that the audit log does not contain the check. The server checks the right to update finalizers for
// references that block a deletion, and the right to create a Deployment for an apply.
func askedByServer(right string) bool {
	return strings.HasSuffix(right, "/finalizers") || right == "create apps/deployments"
}

// reconcilesByDeployment makes a controller send all its requests for objects with a Deployment, and
// waits for the results. The controller finds a Deployment without an owner, creates its own, and
// deletes its own after a rename.
func reconcilesByDeployment(t *testing.T, ns string) {
	t.Helper()
	harness.Must(t, cluster.Kubectl(t, ns, "create", "deployment", "web", "--image", "nginx", "--replicas", "0"))
	limit(t, ns, "count/deployments.apps", "1")
	harness.Must(t, cluster.Kubectl(t, ns, "wait", "quota/few", "--for=jsonpath={.status.used.count/deployments\\.apps}=1", "--timeout", harness.Timeout.String()))
	cluster.Apply(t, ns, manifest(appService, "app", "spec: {deploymentName: web}"))
	cluster.Apply(t, ns, manifest(helloWorld, "hello", "spec: {size: 2}"))
	harness.Must(t, cluster.Kubectl(t, ns, "wait", "appservice/app", "helloworld/hello", "--for=condition=ReplicaFailure", "--timeout", harness.Timeout.String()))
	harness.Must(t, cluster.Kubectl(t, ns, "delete", "deployment/web", "quota/few"))
	harness.Must(t, cluster.Kubectl(t, ns, "wait", "appservice/app", "helloworld/hello", "--for=condition=Ready", "--timeout", harness.Timeout.String()))
	harness.Must(t, cluster.Kubectl(t, ns, "patch", "appservice", "app", "--type=merge", "-p", `{"spec":{"deploymentName":"other"}}`))
	harness.Eventually(t, "the Deployment has the other name", func() bool {
		return harness.Must(t, cluster.Kubectl(t, ns, "get", "deployments", "-o", "name", "--sort-by={.metadata.name}")) == "deployment.apps/hello\ndeployment.apps/other\n"
	})
}

// takeSlot creates a pod without an owner under the name of the pod in a slot, and returns this name.
func takeSlot(t *testing.T, ns string, owner *unstructured.Unstructured, slot slots.Slot) string {
	t.Helper()
	name := slots.PodName(owner.GetName(), owner.GetUID(), "", slot)
	cluster.Apply(t, ns, manifest("apiVersion: v1\nkind: Pod\n", name, "spec: {containers: [{name: main, image: busybox}]}"))
	return name
}
