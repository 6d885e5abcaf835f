package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// deployAs creates the service account, Roles, and RoleBindings for the controller of a namespace.
// start runs a controller on this machine with this account, and with the arguments in the Deployment
// except for the addresses to listen on.
func deployAs(t *testing.T, namespace string) (start func() *harness.Process) {
	t.Helper()
	objs := deploy.Controller(deploy.Settings{Namespace: namespace})
	var args, manifests []string
	for _, obj := range objs {
		switch obj.GetKind() {
		case "Deployment":
			args = harness.As[appsv1.Deployment](t, obj).Spec.Template.Spec.Containers[0].Args
		case "ServiceAccount", "Role", "RoleBinding":
			text, err := yaml.Marshal(obj.Object)
			if err != nil {
				t.Fatal(err)
			}
			manifests = append(manifests, string(text))
		}
	}
	// Several copies run on one machine, where only one could listen on the ports of a pod.
	args = slices.DeleteFunc(args, func(arg string) bool { return strings.Contains(arg, "-bind-address=") })
	cluster.Apply(t, namespace, strings.Join(manifests, "---\n"))
	token := strings.TrimSpace(harness.Must(t, cluster.Kubectl(t, namespace, "create", "token", deploy.ControllerName)))
	kubeconfig := cluster.KubeconfigWith(t, func(current *clientcmdapi.Context, _ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
		current.Namespace = namespace
		*user = clientcmdapi.AuthInfo{Token: token}
	})
	harness.Eventually(t, "the controller has its permissions", func() bool {
		return cluster.Kubectl(t, namespace, "auth", "can-i", "list", "imoocpods", "--kubeconfig", kubeconfig).Code == 0
	})
	return func() *harness.Process {
		t.Helper()
		return cluster.StartPlugin(t, append(args, "--kubeconfig", kubeconfig)...)
	}
}

// leaseOf returns the description of the controller that holds the lease of a namespace.
func leaseOf(t *testing.T, namespace string) leaserecord.Loop {
	t.Helper()
	_, name := leaserecord.Scope{Namespace: namespace}.Lease()
	lease := cluster.Object(t, namespace, "leases.coordination.k8s.io", name)
	return leaserecord.LoopOf(harness.As[coordinationv1.Lease](t, lease))
}

// Two copies of the controller run with the arguments and the service account of the Deployment, but only one is
// active. If the active copy is killed during its work, freezes, or stops, the other copy takes over. No copy creates
// an extra pod. An active copy with converged objects writes only its lease.
func TestSecondCopyTakesOver(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	start := deployAs(t, ns)
	const n = 60
	foo := cluster.NewOwner(t, ns, kinds.ImoocPod(), "foo", map[string]any{"replicas": int64(0)})
	uid := foo.Get().GetUID()

	first := start()
	cluster.AwaitConverged(t, ns, "foo", 0)
	holder := leaseOf(t, ns)
	if holder.PID != first.PID() || holder.Scope.Namespace != ns || holder.Host == "" || holder.User == "" || holder.Version == "" {
		t.Errorf("the lease contains %+v, want process %d", holder, first.PID())
	}
	who := fmt.Sprintf("%s on %s (process %%d), since ", holder.User, holder.Host)
	second := start()
	second.AwaitOutput(fmt.Sprintf(who, first.PID()))
	second.AwaitOutput("waiting until it stops")
	foo.Scale(n)
	w.Until(t, "the first pod exists", func() bool { return w.Created[uid] > 0 })
	first.Kill()
	if made := w.EverCreated(uid); made >= n {
		t.Fatalf("the first copy was killed after all %d pods had been created, so this test proves nothing", n)
	}
	cluster.AwaitConverged(t, ns, "foo", n)
	if holder := leaseOf(t, ns); holder.PID != second.PID() {
		t.Errorf("the lease is held by %s, want process %d", holder, second.PID())
	}
	if most, made := w.MostLive(uid), w.EverCreated(uid); most != n || made != n {
		t.Errorf("saw up to %d pods at once and %d in total, want %d and %d", most, made, n, n)
	}

	// A frozen copy holds the lease until the lease expires. When the copy resumes, it writes nothing.
	third := start()
	third.AwaitOutput("waiting until it stops")
	second.Freeze(t)
	foo.Scale(n / 2)
	cluster.AwaitConverged(t, ns, "foo", n/2)
	if holder := leaseOf(t, ns); holder.PID != third.PID() {
		t.Errorf("the lease is held by %s, want process %d", holder, third.PID())
	}
	second.Thaw(t)
	second.AwaitOutput("could not renew the lease in time")
	// A copy that shuts down, for example during a node drain, releases the lease immediately.
	foo.Scale(n)
	if code := third.Stop(); code != 0 {
		t.Errorf("exit code of the third copy after SIGINT = %d, want 0", code)
	}
	cluster.AwaitConverged(t, ns, "foo", n)
	if most := w.MostLive(uid); most != n {
		t.Errorf("saw up to %d pods at once, want %d", most, n)
	}

	// A copy that was killed on this machine is not reported as running, although its lease has not expired.
	second.Kill()
	foo.Scale(1)
	harness.Eventually(t, "the status says that no controller is running", func() bool {
		return strings.Contains(cluster.Imoocpod(t, ns, "status", "foo"), "no controller is running for it")
	})
	fourth := start()
	fourth.AwaitOutput("taking over from " + fmt.Sprintf(who, second.PID()))
	cluster.AwaitConverged(t, ns, "foo", 1)
	writes := func(lease bool) int {
		return len(cluster.Requests(t, ns, func(r harness.Request) bool {
			return harness.ByPlugin(r) && r.Writes() && (r.Object.Resource == "leases") == lease
		}))
	}
	others, renewals := writes(false), writes(true)
	harness.Eventually(t, "the lease has been renewed a few times", func() bool { return writes(true) >= renewals+3 })
	if now := writes(false); now != others {
		t.Errorf("an active copy with converged objects sent %d writes besides those of its lease, want none", now-others)
	}
}
