package e2e

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// setFinalizers makes an ImoocPod stay when it is deleted, or lets it go.
func setFinalizers(t *testing.T, namespace, name, finalizers string) {
	t.Helper()
	_, err := cluster.dynamic.Resource(kinds.ImoocPod().Resource).Namespace(namespace).Patch(t.Context(), name, types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"finalizers":%s}}`, finalizers), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// What becomes of the pods, TestDelete tells.
func TestDeleteFlags(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	for _, args := range [][]string{{"delete", "no", "--ignore-not-found"}, {"delete", "no", "--ignore-not-found", "--wait=false"}} {
		if r := kubectl(t, ns, append([]string{"imoocpod"}, args...)...); r.code != 0 || r.stdout+r.stderr != "" {
			t.Errorf("%v: exit code %d, printed %q, said %q", args, r.code, r.stdout, r.stderr)
		}
	}
	deleted := fmt.Sprintf("imoocpod.batch.tutorial.kubebuilder.io \"foo\" deleted from %s namespace\n", ns)

	imoocpod(t, ns, "create", "foo")
	if out := imoocpod(t, ns, "delete", "foo", "-o", "name"); out != "imoocpod.batch.tutorial.kubebuilder.io/foo\n" {
		t.Errorf("-o name printed %q", out)
	}
	if left := contents(t, ns); len(left) > 0 {
		t.Errorf("%v is left", left)
	}

	// What a finalizer holds goes when that is lifted.
	imoocpod(t, ns, "create", "foo")
	setFinalizers(t, ns, "foo", `["example.com/hold"]`)
	if out := imoocpod(t, ns, "delete", "foo", "--wait=false", "--ignore-not-found"); out != deleted {
		t.Errorf("--wait=false printed %q, want %q", out, deleted)
	}
	r := kubectl(t, ns, "imoocpod", "delete", "foo", "--timeout", "1s")
	const held = "error: wait for imoocpod.batch.tutorial.kubebuilder.io/foo to be gone: timed out; last seen: progressing: it is being deleted; its deletion is held up by the finalizer example.com/hold\nhint: "
	if r.code != exitTimeout || r.stdout != deleted || !strings.Contains(r.stderr, held) {
		t.Errorf("--timeout: exit code %d, printed %q, said %q", r.code, r.stdout, r.stderr)
	}
	matches(t, "status foo", imoocpod(t, ns, "status", "foo"), `imoocpod.batch.tutorial.kubebuilder.io/foo: progressing: it is being deleted; its deletion is held up by the finalizer example.com/hold\n(?s:.*)`)

	// Who may delete and may not look is told so at once, and not left waiting.
	blind := newUser(t, ns, "delete", "get")
	r = kubectl(t, ns, "imoocpod", "delete", "foo", "--as", blind)
	if r.code != exitForbidden || r.stdout != deleted || !strings.Contains(r.stderr, fmt.Sprintf("User %q cannot list resource %q", blind, "imoocpods")) ||
		!strings.HasSuffix(r.stderr, "it is being deleted, and --wait=false would not have waited\n") {
		t.Errorf("exit code %d, printed %q, said %q", r.code, r.stdout, r.stderr)
	}

	w := startPlugin(t, "delete", "foo", "-n", ns)
	w.says("deleted from")
	setFinalizers(t, ns, "foo", "null")
	if code := w.ends(); code != 0 {
		t.Errorf("the wait ended with exit code %d", code)
	}
	if left := contents(t, ns); len(left) > 0 {
		t.Errorf("%v is left", left)
	}

	imoocpod(t, ns, "create", "foo")
	setFinalizers(t, ns, "foo", `["example.com/hold"]`)
	w = startPlugin(t, "delete", "foo", "-n", ns)
	w.says("deleted from")
	if code := w.stop(); code != exitInterrupted {
		t.Errorf("Ctrl-C ended the wait with exit code %d, want %d", code, exitInterrupted)
	}
	setFinalizers(t, ns, "foo", "null")
}
