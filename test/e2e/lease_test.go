package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// leaseOf returns the controller that the lease of a scope describes.
func leaseOf(t *testing.T, scope leaserecord.Scope) leaserecord.Loop {
	t.Helper()
	namespace, name := scope.Lease()
	obj, err := cluster.Dynamic.Resource(leases).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var lease coordinationv1.Lease
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &lease); err != nil {
		t.Fatal(err)
	}
	return leaserecord.LoopOf(&lease)
}

// One controller of a scope is active at a time. The second names the active one, and waits
// or exits. It takes over when the first stops, and at once if the first was killed.
func TestLease(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	scope := leaserecord.Scope{Namespace: ns}
	first := cluster.StartRunController(t, ns)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "1")
	cluster.AwaitConverged(t, ns, "foo", 1)
	held := leaseOf(t, scope)
	if held.PID != first.PID() || held.Scope.Namespace != ns || held.Host == "" || held.User == "" || held.Version == "" {
		t.Errorf("the lease contains %+v", held)
	}
	who := fmt.Sprintf("%s on %s (process %d), since ", held.User, held.Host, first.PID())
	exits := cluster.Kubectl(t, ns, "imoocpod", "run-controller", "--if-held=exit")
	if exits.Code != 7 || !strings.Contains(exits.Stderr, "error: precondition not met: another controller is running: "+who) {
		t.Errorf("%s: exit code %d, said %s", exits.Line, exits.Code, exits.Stderr)
	}
	second := cluster.StartRunController(t, ns)
	second.AwaitOutput(who)
	second.AwaitOutput("waiting until it stops")
	if code := first.Stop(); code != 0 {
		t.Errorf("the first loop ended with exit code %d", code)
	}
	if given := leaseOf(t, scope); given.Holder != "" && given.PID != second.PID() {
		t.Errorf("after Ctrl-C the lease is still held by %s", given)
	}
	second.AwaitOutput("acquired the lease")
	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "2")
	cluster.AwaitConverged(t, ns, "foo", 2)

	second.Kill()
	third := cluster.StartRunController(t, ns)
	third.AwaitOutput(fmt.Sprintf("taking over from %s on %s (process %d), since", held.User, held.Host, second.PID()))
	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "1")
	cluster.AwaitConverged(t, ns, "foo", 1)

	// A controller whose objects are converged writes only its lease.
	byLoop := func(lease bool) int {
		return len(cluster.Requests(t, ns, func(r harness.Request) bool {
			return harness.ByPlugin(r) && r.Writes() && (r.Object.Resource == "leases") == lease
		}))
	}
	others, renewals := byLoop(false), byLoop(true)
	harness.Eventually(t, "the lease has been renewed a few times", func() bool { return byLoop(true) >= renewals+3 })
	if now := byLoop(false); now != others {
		t.Errorf("%d writes of a converged loop beside its lease", now-others)
	}
}

// A controller that loses its lease stops reconciling, names the new holder, and
// continues when the lease is free.
func TestLostLease(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	l := cluster.StartRunController(t, ns)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "1")
	cluster.AwaitConverged(t, ns, "foo", 1)
	_, name := leaserecord.Scope{Namespace: ns}.Lease()
	harness.Must(t, cluster.Kubectl(t, ns, "patch", "lease", name, "--type=merge", "-p",
		`{"spec":{"holderIdentity":"thief","leaseDurationSeconds":3600},"metadata":{"annotations":{"imoocpod.dev/user":"eve","imoocpod.dev/host":"den","imoocpod.dev/pid":"7"}}}`))
	l.AwaitOutput("could not renew the lease in time: another controller is running: eve on den (process 7)")
	l.AwaitOutput("waiting until it stops")
	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "3")
	foo := cluster.ImoocPod(t, ns, "foo")
	if s := foo.Status; s.ObservedGeneration == foo.Generation {
		t.Error("a loop without its lease wrote the status")
	}
	harness.Must(t, cluster.Kubectl(t, ns, "delete", "lease", name))
	l.AwaitOutput("acquired the lease")
	cluster.AwaitConverged(t, ns, "foo", 3)
}

// Controllers with overlapping scopes report the overlap. A user without permission for the
// lease is shown what to do.
func TestOverlappingLeases(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	renew := func() {
		cluster.Apply(t, "kube-system", fmt.Sprintf(`
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  name: %s
  labels: {imoocpod.dev/controller: run-controller}
  annotations: {imoocpod.dev/user: ops, imoocpod.dev/host: far, imoocpod.dev/pid: "1", imoocpod.dev/selector: "e2e=%s"}
spec: {holderIdentity: ops, leaseDurationSeconds: 3600, renewTime: %q}`, ns, ns, time.Now().UTC().Format(metav1.RFC3339Micro)))
	}
	renew()
	l := cluster.StartRunController(t, ns)
	harness.Eventually(t, "the loop names the other, which renews its lease", func() bool {
		renew()
		return strings.Contains(l.Output(), "ops on far (process 1), reconciles the built-in kinds in all namespaces, where e2e="+ns)
	})
	l.Stop()
	harness.Must(t, cluster.Kubectl(t, "kube-system", "delete", "lease", ns))

	cluster.Apply(t, ns, `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: no-lease}
rules:
- {apiGroups: ["", apps, batch.tutorial.kubebuilder.io, appcontroller.k8s.io, test.jiaozi.com, apps.zhongmingmao.io], resources: ["*"], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: no-lease}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: no-lease}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: no-lease-`+ns+`}]
`)
	refused := cluster.Kubectl(t, ns, "imoocpod", "run-controller", "--as", "no-lease-"+ns)
	if refused.Code != harness.ExitForbidden || !strings.Contains(refused.Stderr, `cannot get resource "leases"`) ||
		!strings.Contains(refused.Stderr, "to run without it, pass --leader-elect=false") {
		t.Errorf("%s: exit code %d, said %s", refused.Line, refused.Code, refused.Stderr)
	}
	cluster.StartRunController(t, ns, "--leader-elect=false", "--as", "no-lease-"+ns)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "1")
	cluster.AwaitConverged(t, ns, "foo", 1)
}
