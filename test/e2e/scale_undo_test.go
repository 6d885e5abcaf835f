package e2e

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// scale --undo restores the count before the plugin's last scale, and never undoes a
// change by another writer.
func TestScaleUndo(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "3")
	const object = "imoocpods.batch.tutorial.kubebuilder.io/foo"
	try := func(code int, stderr string, args ...string) harness.Result {
		t.Helper()
		r := cluster.Kubectl(t, ns, append([]string{"imoocpod", "scale", "foo"}, args...)...)
		if r.Code != code || !strings.HasPrefix(r.Stderr, stderr) {
			t.Errorf("%s: exit code %d, said %q, want %d, %q", r.Line, r.Code, r.Stderr, code, stderr)
		}
		return r
	}
	undo := func(code int, stderr string, args ...string) {
		t.Helper()
		try(code, stderr, append([]string{"--undo"}, args...)...)
	}
	has := func(n int32) {
		t.Helper()
		if now := *cluster.ImoocPod(t, ns, "foo").Spec.Replicas; now != n {
			t.Errorf("foo has the count %d, want %d", now, n)
		}
	}
	undo(harness.ExitPrecondition, "error: precondition not met: cannot return to the last count of imoocpod/foo: it remembers no earlier one.")
	has(3)
	try(0, "imoocpod/foo: 3 → 5\n", "--replicas", "5")
	try(0, "imoocpod/foo: 5 → 5\n", "--replicas", "5")
	for dry, mark := range map[string]string{"client": "dry run", "server": "server dry run"} {
		if r := try(0, "imoocpod/foo: 5 → 3 ("+mark+")\n", "--undo", "--dry-run="+dry, "-o", "jsonpath={.spec.replicas}"); r.Stdout != "3" {
			t.Errorf("%s printed %q", r.Line, r.Stdout)
		}
	}
	has(5)
	undo(0, "imoocpod/foo: 5 → 3\n", "--wait", "--timeout", "2m")
	has(3)
	undo(0, "imoocpod/foo: 3 → 5\n")
	has(5)
	undo(harness.ExitPrecondition, "error: precondition not met: expected the replicas of imoocpod/foo to be 4, was 5\n", "--current-replicas", "4")

	// Another writer changes the count, and then changes it back.
	harness.Must(t, cluster.Kubectl(t, ns, "scale", "imoocpod/foo", "--replicas", "7"))
	undo(harness.ExitOverwritten, `error: overwritten: imoocpod/foo was scaled from 3 to 5, and the field manager "kubectl" has set it since; it is 7 now`+
		"\nhint: to set it back all the same: kubectl imoocpod scale "+object+" -n "+ns+" --replicas 3 --current-replicas 7\n")
	has(7)
	harness.Must(t, cluster.Kubectl(t, ns, "scale", "imoocpod/foo", "--replicas", "5"))
	undo(harness.ExitOverwritten, `error: overwritten: imoocpod/foo was scaled from 3 to 5, and the field manager "kubectl" has set it since; it is 5 now`)
	has(5)

	// Several steps are one change.
	try(0, "imoocpod/foo: 5 → 3 → 1", "--replicas", "1", "--step", "2", "--timeout", "2m")
	undo(0, "imoocpod/foo: 1 → 5\n")
	has(5)

	// A user who may change only the scale subresource can still scale, but the old
	// count is not recorded.
	cluster.Apply(t, ns, `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: scale-only}, rules: [
  {apiGroups: [batch.tutorial.kubebuilder.io], resources: [imoocpods], verbs: [get]}, {apiGroups: [batch.tutorial.kubebuilder.io], resources: [imoocpods/scale], verbs: [get, patch]}]}`)
	harness.Must(t, cluster.Kubectl(t, ns, "create", "rolebinding", "scale-only", "--role=scale-only", "--user=scaler-"+ns))
	harness.Eventually(t, "the role counts", func() bool {
		return cluster.Kubectl(t, ns, "auth", "can-i", "get", "imoocpods/foo", "--as", "scaler-"+ns).Code == 0
	})
	memory := func() string { return cluster.ImoocPod(t, ns, "foo").Annotations[apis.AnnotationLastScale] }
	before := memory()
	for _, by := range []string{"+1", "-2"} {
		if r := cluster.Kubectl(t, ns, "imoocpod", "scale", "foo", "--by="+by, "--as", "scaler-"+ns); r.Code != 0 {
			t.Errorf("exit code %d, said %q", r.Code, r.Stderr)
		}
	}
	if has(4); memory() != before {
		t.Errorf("it records %s, before %s", memory(), before)
	}
	undo(harness.ExitOverwritten, "error: overwritten: imoocpod/foo was scaled from 1 to 5, and this program, without recording the count before, has set it since; it is 4 now\n")
	if r := cluster.Kubectl(t, ns, "imoocpod", "scale", "foo", "--undo", "--as", "scaler-"+ns); r.Code == 0 {
		t.Errorf("%s: said %q", r.Line, r.Stderr)
	}
	for _, args := range []string{"--undo --replicas 3", "--undo --by +1", "--undo --remove x", "--undo --reuse", "--undo --step 1"} {
		if r := try(harness.ExitUsage, "", harness.Words(args)...); !strings.Contains(r.Stderr, "--undo and ") {
			t.Errorf("%s said %q", r.Line, r.Stderr)
		}
	}
	has(4)
}

// A declared kind without /scale records its count, too. A Deployment gets no
// annotation, and --undo is refused with the reason.
func TestScaleUndoOfOtherKinds(t *testing.T) {
	t.Parallel()
	crd := gadget("scaleback.example.com")
	kind := kindIn(t, crd)
	cluster.InstallKind(t, kind, crd)
	ns := cluster.NewNamespace(t)
	foo := cluster.NewOwner(t, ns, kind, "foo", map[string]any{"size": int64(3)})
	name := kind.String() + "/foo"
	cluster.Imoocpod(t, ns, "scale", name, "--by", "+4")
	if r := cluster.Kubectl(t, ns, "imoocpod", "scale", name, "--undo"); r.Code != 0 || !strings.Contains(r.Stderr, "gadget/foo: 7 → 3\n") || foo.Count(kind.ReplicasPath) != 3 {
		t.Errorf("exit code %d, said %q, and the count is %d", r.Code, r.Stderr, foo.Count(kind.ReplicasPath))
	}
	cluster.CreateObject(t, ns, "deployments.apps", workload("Deployment", "web", 2))
	cluster.Imoocpod(t, ns, "scale", "deployment/web", "--replicas", "3")
	r := cluster.Kubectl(t, ns, "imoocpod", "scale", "deployment/web", "--undo")
	want := "error: refused: --undo does not work for deployment/web: the count before a change is recorded only in objects of kinds that run-controller reconciles\n" +
		"hint: to set a count: kubectl imoocpod scale deployments.apps/web -n " + ns + " --replicas COUNT\n"
	web := cluster.Object(t, ns, "deployments.apps", "web")
	if r.Code != harness.ExitPrecondition || r.Stderr != want || web.GetAnnotations()[apis.AnnotationLastScale] != "" || !strings.Contains(fieldsText(t, web, "spec.replicas"), "3") {
		t.Errorf("exit code %d, said %q, want %q; the annotations are %v", r.Code, r.Stderr, want, web.GetAnnotations())
	}
}

// A count written between the read and the write is kept.
func TestScaleUndoMeetsASecondWriter(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "3")
	objects := cluster.Dynamic.Resource(kinds.ImoocPod().Resource).Namespace(ns)
	for _, row := range []struct {
		patch string
		code  int
		count int32
	}{
		{`{"metadata":{"labels":{"note":"x"}}}`, 0, 3},
		{`{"spec":{"replicas":9}}`, harness.ExitOverwritten, 9},
	} {
		cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "3")
		cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "5")
		proxy, ctx := cluster.ServerProxy(t), t.Context()
		var once sync.Once
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPatch {
				once.Do(func() {
					if _, err := objects.Patch(ctx, "foo", types.MergePatchType, []byte(row.patch), metav1.PatchOptions{}); err != nil {
						t.Error(err)
					}
				})
			}
			proxy.ServeHTTP(w, r)
		}))
		r := cluster.Kubectl(t, ns, "imoocpod", "scale", "foo", "--undo", "--server", server.URL)
		server.Close()
		if now := *cluster.ImoocPod(t, ns, "foo").Spec.Replicas; r.Code != row.code || now != row.count {
			t.Errorf("after %s: exit code %d, said %q, and the count is %d", row.patch, r.Code, r.Stderr, now)
		}
	}
}
