package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// leaseOf returns the description of the controller that holds the lease of a scope.
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

// Only one controller of a scope is active at a time. A second controller names the active one, and
// waits or exits. It takes over when the active one stops. If the active one was killed, it does not
// wait until the lease expires.
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

	// A killed controller on this machine is not reported as running, although its lease has not
	// expired.
	second.Kill()
	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "3")
	harness.Eventually(t, "the status says that no controller is running", func() bool {
		return strings.Contains(cluster.Imoocpod(t, ns, "status", "foo"), "no controller is running for it")
	})
	third := cluster.StartRunController(t, ns)
	third.AwaitOutput(fmt.Sprintf("taking over from %s on %s (process %d), since", held.User, held.Host, second.PID()))
	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "1")
	cluster.AwaitConverged(t, ns, "foo", 1)

	// A controller with converged objects writes only its lease.
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
