package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// removeCRD deletes a CRD and its objects when the test ends.
func removeCRD(t *testing.T, name string) {
	t.Helper()
	t.Cleanup(func() {
		if err := cluster.CRDs().Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// The server accepts the CRD from "kinds new" without warnings. The defaults, the validation rules,
// the columns, and /scale of the CRD work.
func TestKindsNew(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	for _, test := range []struct {
		args, plural string
		// count is the path of the field that /scale sets, or "" without /scale.
		count string
	}{
		{"Podder --plan pods", "podders", ".spec.replicas"},
		{"Portal --plan deployment --replicas-path .spec.pool.size --image httpd", "portals", ".spec.pool.size"},
		{"Watcher --plan nodes", "watchers", ""},
	} {
		kind, _, _ := strings.Cut(test.args, " ")
		command := append([]string{"kinds", "new", "--group", "new.example.com"}, harness.Words(test.args)...)
		crd := test.plural + ".new.example.com"
		head := "apiVersion: new.example.com/v1alpha1\nkind: " + kind + "\n"
		crdRef := "customresourcedefinition.apiextensions.k8s.io/" + crd

		printed := cluster.Imoocpod(t, "", command...)
		strict := harness.Must(t, cluster.KubectlFrom(t, printed, nil, "", "create", "--validate=strict", "--dry-run=server", "-f", "-"))
		if strict != crdRef+" created (server dry run)\n" {
			t.Errorf("kubectl create --validate=strict --dry-run=server printed %q for\n%s", strict, printed)
		}
		r := cluster.Kubectl(t, "", append([]string{"imoocpod"}, append(command, "--install")...)...)
		removeCRD(t, crd)
		next := "Next:\n  kubectl imoocpod run-controller --kinds " + crd + "\n  kubectl imoocpod create " + crd + "/NAME\n"
		if harness.Must(t, r) != crdRef+" created\n" || r.Stderr != next {
			t.Errorf("%s: stdout %q, stderr %q, want stderr %q", r.Line, r.Stdout, r.Stderr, next)
		}
		stored, err := cluster.CRDs().Get(t.Context(), crd, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if declared, err := kinds.Declared(stored); err != nil || !declared.Reconciled() {
			t.Errorf("kinds.Declared of the stored CRD = %+v, error %v, want a reconciled kind", declared, err)
		}
		conditions, _, _ := unstructured.NestedSlice(stored.Object, "status", "conditions")
		for _, c := range conditions {
			if c, _ := c.(map[string]any); c["type"] == "NonStructuralSchema" || c["status"] == "False" {
				t.Errorf("CRD %s has the bad condition %v", crd, c)
			}
		}
		if again := cluster.Imoocpod(t, "", append(command, "--install")...); again != crdRef+" unchanged\n" {
			t.Errorf("the second kinds new --install of %s printed %q, want %q", crd, again, crdRef+" unchanged\n")
		}

		object := test.plural + ".new.example.com/foo"
		cluster.Apply(t, ns, manifest(head, "foo", "")) // only a name
		image := harness.Must(t, cluster.Kubectl(t, ns, "get", object, "-o", "jsonpath={.spec.image}"))
		if image != map[bool]string{true: "httpd", false: "nginx"}[strings.Contains(test.args, "httpd")] {
			t.Errorf("the default image of %s is %q", kind, image)
		}
		if test.count != "" {
			harness.Must(t, cluster.Kubectl(t, ns, "scale", object, "--replicas", "3"))
			if n := harness.Must(t, cluster.Kubectl(t, ns, "get", object, "-o", "jsonpath={"+test.count+"}")); n != "3" {
				t.Errorf("after a scale of %s to 3, %s is %q", kind, test.count, n)
			}
		}
		if header := harness.Must(t, cluster.Kubectl(t, ns, "get", object)); !strings.HasPrefix(strings.Join(harness.Words(header), " "), "NAME DESIRED CURRENT UP-TO-DATE READY AGE ") {
			t.Errorf("kubectl get printed unexpected columns:\n%s", header)
		}
		long := strings.Repeat("a", 64)
		if r := cluster.KubectlFrom(t, manifest(head, long, ""), nil, ns, "apply", "-f", "-"); r.Code == 0 || !strings.Contains(r.Stderr, "no longer than 63 characters") {
			t.Errorf("%s with a name of 64 characters: exit code %d, stderr %s", kind, r.Code, r.Stderr)
		}
	}
}
