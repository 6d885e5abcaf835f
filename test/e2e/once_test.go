package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// --once ends when all is as wanted, or says what is not, and why.
func TestOnce(t *testing.T) {
	t.Parallel()
	ns, other := newNamespace(t), newNamespace(t)
	once := func(args ...string) result {
		t.Helper()
		return kubectl(t, ns, append([]string{"imoocpod", "run-controller", "--once"}, args...)...)
	}
	if out := must(t, once()); !strings.Contains(out, "converged: 0 objects") {
		t.Errorf("of an empty namespace it said %s", out)
	}
	imoocpod(t, ns, "create", "foo", "--replicas", "3")
	imoocpod(t, ns, "create", "bar", "--replicas", "2")
	if out := must(t, once()); !strings.Contains(out, "converged: 2 objects") {
		t.Errorf("it said %s", out)
	}
	for name, n := range map[string]int{"foo": 3, "bar": 2} {
		if s := getImoocPod(t, ns, name).Status; int(s.ReadyReplicas) != n {
			t.Errorf("it ended when %d of %d pods of %s were ready", s.ReadyReplicas, n, name)
		}
	}
	// A status of before says nothing: the pods that went meanwhile are replaced.
	foo := getImoocPod(t, ns, "foo")
	must(t, kubectl(t, ns, "delete", "pod", podsOf(t, ns, foo.UID)[0].Name))
	must(t, once())
	converged(t, ns, "foo", 3)

	// There is no node for this one.
	apply(t, ns, `
apiVersion: batch.tutorial.kubebuilder.io/v1alpha1
kind: ImoocPod
metadata: {name: slow}
spec: {replicas: 1, template: {spec: {nodeSelector: {no: such}, containers: [{name: main, image: busybox}]}}}`)
	late := once("--timeout", "5s")
	if late.code != 4 || !strings.Contains(late.stderr, "error: wait for imoocpod.batch.tutorial.kubebuilder.io/slow to be ready: timed out; last seen: ") {
		t.Errorf("%s: exit code %d, said %s", late.line, late.code, late.stderr)
	}
	quota(t, ns, "6")
	imoocpod(t, ns, "scale", "slow", "--replicas", "0")
	imoocpod(t, ns, "scale", "bar", "--replicas", "9")
	failed := once("--fail-after", "1s")
	if failed.code != 3 || !strings.Contains(failed.stderr, "error: imoocpod.batch.tutorial.kubebuilder.io/bar has failed: ") ||
		!strings.Contains(failed.stderr, "exceeded quota: few") {
		t.Errorf("%s: exit code %d, said %s", failed.line, failed.code, failed.stderr)
	}

	// Of several namespaces one that is refused does not stop the others.
	imoocpod(t, other, "create", "foo", "--replicas", "1")
	several := kubectl(t, other+",e2e-no-such-namespace", "imoocpod", "run-controller", "--once")
	if several.code != exitNotFound || !strings.Contains(several.stderr, `namespaces "e2e-no-such-namespace" not found`) {
		t.Errorf("%s: exit code %d, said %s", several.line, several.code, several.stderr)
	}
	converged(t, other, "foo", 1)

	// Of what may not be read the objects that need it are left, and the rest is done.
	apply(t, other, fmt.Sprintf(`
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
	imoocpod(t, other, "scale", "foo", "--replicas", "2")
	part := kubectl(t, other, "imoocpod", "run-controller", "--once", "--as", "all-of-"+other)
	if part.code != exitForbidden || !strings.Contains(part.stderr, "mydaemonsets.apps.zhongmingmao.io are not reconciled: nodes is forbidden") {
		t.Errorf("%s: exit code %d, said %s", part.line, part.code, part.stderr)
	}
	converged(t, other, "foo", 2)
}

// --dry-run tells what would be done, and writes nothing: a person who may only
// read can run it.
func TestLoopDryRun(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	imoocpod(t, ns, "create", "bar", "--replicas", "1")
	imoocpod(t, ns, "run-controller", "--once")
	imoocpod(t, ns, "create", "foo", "--replicas", "2")
	foo := getImoocPod(t, ns, "foo")
	reader := newReader(t, ns)
	ran := func(args ...string) string {
		t.Helper()
		return imoocpod(t, ns, append([]string{"run-controller", "--dry-run", "--as", reader}, args...)...)
	}
	want := fmt.Sprintf("imoocpod.batch.tutorial.kubebuilder.io/bar (dry run): nothing to do\n"+
		"imoocpod.batch.tutorial.kubebuilder.io/foo (dry run): 0 → 2 pods: create %s, %s; write the status\n", podName(foo, 0), podName(foo, 1))
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
		t.Errorf("the JSON says %+v", report)
	}
	tried := audited(t, ns, func(r request) bool {
		return r.ImpersonatedUser != nil && r.ImpersonatedUser.Username == reader && r.writes()
	})
	if len(tried) > 0 {
		t.Errorf("a dry run tried to write: %+v", tried)
	}
}

// newReader makes a user who may read everything of a namespace that a loop reads.
func newReader(t *testing.T, namespace string) string {
	t.Helper()
	name := "reader-" + namespace
	apply(t, namespace, fmt.Sprintf(`
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

// With several namespaces, a loop that is refused in one goes on in the others.
func TestSeveralNamespaces(t *testing.T) {
	t.Parallel()
	a, b := newNamespace(t), newNamespace(t)
	l := startLoop(t, a+","+b+",e2e-no-such-namespace")
	l.says("in namespaces " + a + ", " + b + ", e2e-no-such-namespace")
	l.says(`namespace e2e-no-such-namespace: namespaces "e2e-no-such-namespace" not found; going on without it`)
	for _, ns := range []string{a, b} {
		imoocpod(t, ns, "create", "foo", "--replicas", "1")
		converged(t, ns, "foo", 1)
		l.says(ns + "/foo: 0 → 1 pods: creating 1")
	}
	if code := l.stop(); code != 0 {
		t.Errorf("the loop ended with exit code %d", code)
	}
	none := kubectl(t, "e2e-no-such-namespace,e2e-nor-this", "imoocpod", "run-controller")
	if none.code != exitNotFound || !strings.Contains(none.stderr, "not found") {
		t.Errorf("%s: exit code %d, said %s", none.line, none.code, none.stderr)
	}
}

// How far a loop has come can still be told when it has ended: --once ends it,
// and then says of what it gave up why.
func TestStandingsOutliveTheLoop(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	imoocpod(t, ns, "create", "foo", "--replicas", "1")
	l := startInner(t, ns, nil)
	converged(t, ns, "foo", 1)
	l.stop()
	<-l.done
	if all, _ := l.Standings(); len(all) != 1 || all[0].Name != "foo" {
		t.Errorf("it knows of %+v", all)
	}
}
