package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

var leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// leaseOf reads the lease of a scope.
func leaseOf(t *testing.T, scope status.Scope) status.Loop {
	t.Helper()
	namespace, name := scope.Lease()
	obj, err := cluster.dynamic.Resource(leases).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var lease coordinationv1.Lease
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &lease); err != nil {
		t.Fatal(err)
	}
	return status.LoopOf(&lease)
}

// One loop of a scope works at a time. The second says who does, and waits or
// exits; it takes over when the first stops, and at once from one that was killed.
func TestLease(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	scope := status.Scope{Namespace: ns}
	first := startLoop(t, ns)
	imoocpod(t, ns, "create", "foo", "--replicas", "1")
	converged(t, ns, "foo", 1)
	held := leaseOf(t, scope)
	if held.PID != first.cmd.Process.Pid || held.Scope.Namespace != ns || held.Host == "" || held.User == "" || held.Version == "" {
		t.Errorf("the lease tells of %+v", held)
	}
	who := fmt.Sprintf("%s on %s (process %d), since ", held.User, held.Host, first.cmd.Process.Pid)
	exits := kubectl(t, ns, "imoocpod", "run-controller", "--if-held=exit")
	if exits.code != 7 || !strings.Contains(exits.stderr, "error: precondition not met: "+who) {
		t.Errorf("%s: exit code %d, said %s", exits.line, exits.code, exits.stderr)
	}
	second := startLoop(t, ns)
	second.says(who)
	second.says("waiting until it stops")
	if code := first.stop(); code != 0 {
		t.Errorf("the first loop ended with exit code %d", code)
	}
	if given := leaseOf(t, scope); given.Holder != "" && given.PID != second.cmd.Process.Pid {
		t.Errorf("after Ctrl-C the lease is still held by %s", given)
	}
	second.says("the lease is held: reconciling")
	imoocpod(t, ns, "scale", "foo", "--replicas", "2")
	converged(t, ns, "foo", 2)

	second.kill()
	third := startLoop(t, ns)
	third.says(fmt.Sprintf("taking over from %s on %s (process %d), since", held.User, held.Host, second.cmd.Process.Pid))
	imoocpod(t, ns, "scale", "foo", "--replicas", "1")
	converged(t, ns, "foo", 1)

	// A converged system writes its lease and nothing else.
	byLoop := func(lease bool) int {
		return len(audited(t, ns, func(r request) bool {
			return byPlugin(r) && r.writes() && (r.Object.Resource == "leases") == lease
		}))
	}
	others, renewals := byLoop(false), byLoop(true)
	eventually(t, "the lease has been renewed a few times", func() bool { return byLoop(true) >= renewals+3 })
	if now := byLoop(false); now != others {
		t.Errorf("%d writes of a converged loop beside its lease", now-others)
	}
}

// A loop whose lease somebody takes away stops, says who it was, and goes on
// when the lease is free again.
func TestLostLease(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	l := startLoop(t, ns)
	imoocpod(t, ns, "create", "foo", "--replicas", "1")
	converged(t, ns, "foo", 1)
	_, name := status.Scope{Namespace: ns}.Lease()
	must(t, kubectl(t, ns, "patch", "lease", name, "--type=merge", "-p",
		`{"spec":{"holderIdentity":"thief","leaseDurationSeconds":3600},"metadata":{"annotations":{"imoocpod.dev/user":"eve","imoocpod.dev/host":"den","imoocpod.dev/pid":"7"}}}`))
	l.says("the lease could not be renewed in time, and was taken: eve on den (process 7)")
	l.says("waiting until it stops")
	imoocpod(t, ns, "scale", "foo", "--replicas", "3")
	foo := getImoocPod(t, ns, "foo")
	if s := foo.Status; s.ObservedGeneration == foo.Generation {
		t.Error("a loop without its lease wrote the status")
	}
	must(t, kubectl(t, ns, "delete", "lease", name))
	l.says("the lease is held: reconciling")
	converged(t, ns, "foo", 3)
}

// Loops of scopes that overlap say so, and who may not have a lease is told
// what to do.
func TestLeaseOfOthers(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	apply(t, "kube-system", fmt.Sprintf(`
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  name: %s
  labels: {imoocpod.dev/controller: run-controller}
  annotations: {imoocpod.dev/user: ops, imoocpod.dev/host: far, imoocpod.dev/pid: "1", imoocpod.dev/selector: "e2e=%s"}
spec: {holderIdentity: ops, leaseDurationSeconds: 3600, renewTime: %q}`, ns, ns, time.Now().UTC().Format(metav1.RFC3339Micro)))
	l := startLoop(t, ns)
	l.says("ops on far (process 1), reconciles all kinds in all namespaces, where e2e=" + ns)
	l.stop()
	must(t, kubectl(t, "kube-system", "delete", "lease", ns))

	apply(t, ns, `
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
	refused := kubectl(t, ns, "imoocpod", "run-controller", "--as", "no-lease-"+ns)
	if refused.code != exitForbidden || !strings.Contains(refused.stderr, `cannot get resource "leases"`) ||
		!strings.Contains(refused.stderr, "--leader-elect=false does without") {
		t.Errorf("%s: exit code %d, said %s", refused.line, refused.code, refused.stderr)
	}
	startLoop(t, ns, "--leader-elect=false", "--as", "no-lease-"+ns)
	imoocpod(t, ns, "create", "foo", "--replicas", "1")
	converged(t, ns, "foo", 1)
}
