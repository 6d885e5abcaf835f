package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// --once exits when everything is ready, or reports what is not, and why.
func TestOnce(t *testing.T) {
	t.Parallel()
	ns, other := cluster.NewNamespace(t), cluster.NewNamespace(t)
	once := func(args ...string) harness.Result {
		t.Helper()
		return cluster.Kubectl(t, ns, append([]string{"imoocpod", "run-controller", "--once"}, args...)...)
	}
	if out := harness.Must(t, once()); !strings.Contains(out, "converged: 0 objects") {
		t.Errorf("of an empty namespace it said %s", out)
	}
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "3")
	cluster.Imoocpod(t, ns, "create", "bar", "--replicas", "2")
	if out := harness.Must(t, once()); !strings.Contains(out, "converged: 2 objects") {
		t.Errorf("it said %s", out)
	}
	for name, n := range map[string]int{"foo": 3, "bar": 2} {
		if s := cluster.ImoocPod(t, ns, name).Status; int(s.ReadyReplicas) != n {
			t.Errorf("it ended when %d of %d pods of %s were ready", s.ReadyReplicas, n, name)
		}
	}
	// An outdated status is ignored, so pods that were deleted in the meantime are replaced.
	foo := cluster.ImoocPod(t, ns, "foo")
	harness.Must(t, cluster.Kubectl(t, ns, "delete", "pod", cluster.PodsOf(t, ns, foo.UID)[0].Name))
	harness.Must(t, once())
	cluster.AwaitConverged(t, ns, "foo", 3)

	// No node matches the node selector of this object.
	cluster.Apply(t, ns, `
apiVersion: batch.tutorial.kubebuilder.io/v1alpha1
kind: ImoocPod
metadata: {name: slow}
spec: {replicas: 1, template: {spec: {nodeSelector: {no: such}, containers: [{name: main, image: busybox}]}}}`)
	late := once("--timeout", "5s")
	if late.Code != 4 || !strings.Contains(late.Stderr, "error: wait for imoocpod.batch.tutorial.kubebuilder.io/slow to be ready: timed out; last seen: ") {
		t.Errorf("%s: exit code %d, said %s", late.Line, late.Code, late.Stderr)
	}
	quota(t, ns, "6")
	cluster.Imoocpod(t, ns, "scale", "slow", "--replicas", "0")
	cluster.Imoocpod(t, ns, "scale", "bar", "--replicas", "9")
	failed := once("--fail-after", "1s")
	if failed.Code != 3 || !strings.Contains(failed.Stderr, "error: imoocpod.batch.tutorial.kubebuilder.io/bar has failed: ") ||
		!strings.Contains(failed.Stderr, "exceeded quota: few") {
		t.Errorf("%s: exit code %d, said %s", failed.Line, failed.Code, failed.Stderr)
	}

	// An error in one namespace does not stop the others.
	cluster.Imoocpod(t, other, "create", "foo", "--replicas", "1")
	several := cluster.Kubectl(t, other+",e2e-no-such-namespace", "imoocpod", "run-controller", "--once")
	if several.Code != harness.ExitNotFound || !strings.Contains(several.Stderr, `namespaces "e2e-no-such-namespace" not found`) {
		t.Errorf("%s: exit code %d, said %s", several.Line, several.Code, several.Stderr)
	}
	cluster.AwaitConverged(t, other, "foo", 1)

	// Without permission to read a resource, the objects that need it are left alone, and the
	// others are reconciled.
	cluster.Apply(t, other, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: all-here}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: all-here}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: all-here}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: all-of-%s}]
---
apiVersion: apps.zhongmingmao.io/v1beta1
kind: MyDaemonSet
metadata: {name: agent}
spec: {image: busybox}`, other))
	cluster.Imoocpod(t, other, "scale", "foo", "--replicas", "2")
	part := cluster.Kubectl(t, other, "imoocpod", "run-controller", "--once", "--as", "all-of-"+other)
	if part.Code != harness.ExitForbidden || !strings.Contains(part.Stderr, "mydaemonsets.apps.zhongmingmao.io are not reconciled: nodes is forbidden") {
		t.Errorf("%s: exit code %d, said %s", part.Line, part.Code, part.Stderr)
	}
	cluster.AwaitConverged(t, other, "foo", 2)

	// Without permission to list a kind, --once cannot report success.
	cluster.Apply(t, other, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: some-here}
rules: [{apiGroups: ["", apps, batch.tutorial.kubebuilder.io, coordination.k8s.io], resources: ["*"], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: some-here}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: some-here}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: some-of-%s}]`, other))
	some := cluster.Kubectl(t, other, "imoocpod", "run-controller", "--once", "--as", "some-of-"+other)
	if some.Code != harness.ExitForbidden || !strings.Contains(some.Stderr, "helloworlds.test.jiaozi.com are not reconciled: helloworlds.test.jiaozi.com is forbidden") {
		t.Errorf("%s: exit code %d, said %s", some.Line, some.Code, some.Stderr)
	}
}

// --dry-run prints what a controller would do, and writes nothing, so read access is
// enough.
func TestLoopDryRun(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "bar", "--replicas", "1")
	cluster.Imoocpod(t, ns, "run-controller", "--once")
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "2")
	foo := cluster.ImoocPod(t, ns, "foo")
	reader := newReader(t, ns)
	ran := func(args ...string) string {
		t.Helper()
		return cluster.Imoocpod(t, ns, append([]string{"run-controller", "--dry-run", "--as", reader}, args...)...)
	}
	want := fmt.Sprintf("imoocpod.batch.tutorial.kubebuilder.io/bar (dry run): nothing to do\n"+
		"imoocpod.batch.tutorial.kubebuilder.io/foo (dry run): 0 → 2 pods: create %s, %s; create revision 1; write the status\n", podName(foo, 0), podName(foo, 1))
	if out := ran(); out != want {
		t.Errorf("it said\n%s\nwant\n%s", out, want)
	}
	var report struct {
		Kind  string
		Items []struct {
			Name string
			Plan struct {
				Pods, Desired int
				Create        []string
				WriteStatus   bool
			}
		}
	}
	if err := json.Unmarshal([]byte(ran("-o", "json")), &report); err != nil {
		t.Fatal(err)
	}
	if report.Kind != "PlanReport" || len(report.Items) != 2 || report.Items[1].Name != "foo" || len(report.Items[1].Plan.Create) != 2 ||
		report.Items[1].Plan.Desired != 2 || report.Items[0].Plan.WriteStatus || !report.Items[1].Plan.WriteStatus {
		t.Errorf("the JSON is %+v", report)
	}
	tried := cluster.Requests(t, ns, func(r harness.Request) bool {
		return r.ImpersonatedUser != nil && r.ImpersonatedUser.Username == reader && r.Writes()
	})
	if len(tried) > 0 {
		t.Errorf("a dry run tried to write: %+v", tried)
	}
}

// A dry run prints why an object cannot get what it requests.
func TestDryRunOfBlockedObject(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	harness.Must(t, cluster.Kubectl(t, ns, "create", "deployment", "web", "--image", "nginx"))
	cluster.Imoocpod(t, ns, "create", "appservice/web", "--replicas", "2", "--image", "nginx")
	const blocked = "blocked: Deployment web already exists and is not owned by this AppService\n"
	if out := cluster.Imoocpod(t, ns, "run-controller", "--dry-run"); !strings.HasPrefix(out, "appservice.appcontroller.k8s.io/web (dry run): ") || !strings.HasSuffix(out, blocked) {
		t.Errorf("it said %s", out)
	}
}

// newReader creates a user with read access to everything in a namespace, and returns the
// name of the user.
func newReader(t *testing.T, namespace string) string {
	t.Helper()
	name := "reader-" + namespace
	cluster.Apply(t, namespace, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules:
- {apiGroups: ["*"], resources: ["*"], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %s}]
`, name))
	return name
}

// A controller for several namespaces skips those that do not exist. If none exists, it
// exits.
func TestSeveralNamespaces(t *testing.T) {
	t.Parallel()
	a, b := cluster.NewNamespace(t), cluster.NewNamespace(t)
	l := cluster.StartRunController(t, a+","+b+",e2e-no-such-namespace")
	l.AwaitOutput("in namespaces " + a + ", " + b + ", e2e-no-such-namespace")
	l.AwaitOutput(`namespace e2e-no-such-namespace: namespaces "e2e-no-such-namespace" not found; skipping this namespace`)
	for _, ns := range []string{a, b} {
		cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "1")
		cluster.AwaitConverged(t, ns, "foo", 1)
		l.AwaitOutput(ns + "/foo: 0 → 1 pod: creating 1")
	}
	if code := l.Stop(); code != 0 {
		t.Errorf("the loop ended with exit code %d", code)
	}
	none := cluster.Kubectl(t, "e2e-no-such-namespace,e2e-nor-this", "imoocpod", "run-controller")
	if none.Code != harness.ExitNotFound || !strings.Contains(none.Stderr, "not found") {
		t.Errorf("%s: exit code %d, said %s", none.Line, none.Code, none.Stderr)
	}
}

// A stopped controller still knows the states of its objects, because --once reports them
// at the end.
func TestFinalStateAfterOnce(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "1")
	l := cluster.StartController(t, ns, nil)
	cluster.AwaitConverged(t, ns, "foo", 1)
	l.Stop()
	<-l.Done
	if all, _ := l.States(); len(all) != 1 || all[0].Name != "foo" {
		t.Errorf("it knows of %+v", all)
	}
}
