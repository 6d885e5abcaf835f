package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// TestDelete checks the pods.
func TestDeleteFlags(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	for _, args := range [][]string{{"delete", "no", "--ignore-not-found"}, {"delete", "no", "--ignore-not-found", "--wait=false"}} {
		if r := cluster.Kubectl(t, ns, append([]string{"imoocpod"}, args...)...); r.Code != 0 || r.Stdout+r.Stderr != "" {
			t.Errorf("%v: exit code %d, printed %q, said %q", args, r.Code, r.Stdout, r.Stderr)
		}
	}
	deleted := fmt.Sprintf("imoocpod.batch.tutorial.kubebuilder.io \"foo\" deleted from %s namespace\n", ns)

	cluster.Imoocpod(t, ns, "create", "foo")
	if out := cluster.Imoocpod(t, ns, "delete", "foo", "-o", "name"); out != "imoocpod.batch.tutorial.kubebuilder.io/foo\n" {
		t.Errorf("-o name printed %q", out)
	}
	if left := cluster.ImoocPodVersions(t, ns); len(left) > 0 {
		t.Errorf("%v is left", left)
	}

	// A dry run prints the same as kubectl's, and deletes nothing.
	cluster.Imoocpod(t, ns, "create", "foo")
	for _, way := range []string{"--dry-run=server", "--dry-run=client"} {
		for _, format := range []string{"", "name"} {
			args := []string{"delete", way}
			if format != "" {
				args = append(args, "-o", format)
			}
			want := harness.Must(t, cluster.Kubectl(t, ns, append(args, "imoocpod/foo")...))
			if got := cluster.Imoocpod(t, ns, append(args, "foo")...); got != want {
				t.Errorf("%v printed %q, and kubectl %q", args, got, want)
			}
		}
		if r := cluster.Kubectl(t, ns, "imoocpod", "delete", "no", way); r.Code != harness.ExitNotFound {
			t.Errorf("%s: exit code %d, said %q", r.Line, r.Code, r.Stderr)
		}
	}
	if foo := cluster.ImoocPod(t, ns, "foo"); foo.DeletionTimestamp != nil {
		t.Error("a dry run deleted the object")
	}
	cluster.Imoocpod(t, ns, "delete", "foo")

	// An object with a finalizer is deleted when the finalizer is removed.
	cluster.Imoocpod(t, ns, "create", "foo")
	cluster.SetFinalizers(t, ns, "foo", `["example.com/hold"]`)
	if out := cluster.Imoocpod(t, ns, "delete", "foo", "--wait=false", "--ignore-not-found"); out != deleted {
		t.Errorf("--wait=false printed %q, want %q", out, deleted)
	}
	r := cluster.Kubectl(t, ns, "imoocpod", "delete", "foo", "--timeout", "5s")
	const held = "error: wait for imoocpod/foo to be gone: timed out; last seen: progressing: it is being deleted; a finalizer is still pending: example.com/hold\nhint: "
	if r.Code != harness.ExitTimeout || r.Stdout != deleted || !strings.Contains(r.Stderr, held) {
		t.Errorf("--timeout: exit code %d, printed %q, said %q", r.Code, r.Stdout, r.Stderr)
	}
	matches(t, "status foo", cluster.Imoocpod(t, ns, "status", "foo"), `imoocpod/foo: progressing: it is being deleted; a finalizer is still pending: example.com/hold\n(?s:.*)`)

	// A user who may delete but not get fails at once instead of waiting.
	blind := newUser(t, ns, "delete", "get")
	r = cluster.Kubectl(t, ns, "imoocpod", "delete", "foo", "--as", blind)
	if r.Code != harness.ExitForbidden || r.Stdout != deleted || !strings.Contains(r.Stderr, fmt.Sprintf("User %q cannot list resource %q", blind, "imoocpods")) ||
		!strings.HasSuffix(r.Stderr, "the object is being deleted; to return without waiting, use --wait=false\n") {
		t.Errorf("exit code %d, printed %q, said %q", r.Code, r.Stdout, r.Stderr)
	}

	w := cluster.StartPlugin(t, "delete", "foo", "-n", ns)
	w.AwaitOutput("deleted from")
	cluster.SetFinalizers(t, ns, "foo", "null")
	if code := w.Wait(); code != 0 {
		t.Errorf("the wait ended with exit code %d", code)
	}
	if left := cluster.ImoocPodVersions(t, ns); len(left) > 0 {
		t.Errorf("%v is left", left)
	}

	cluster.Imoocpod(t, ns, "create", "foo")
	cluster.SetFinalizers(t, ns, "foo", `["example.com/hold"]`)
	w = cluster.StartPlugin(t, "delete", "foo", "-n", ns)
	w.AwaitOutput("deleted from")
	if code := w.Stop(); code != harness.ExitInterrupted {
		t.Errorf("Ctrl-C ended the wait with exit code %d, want %d", code, harness.ExitInterrupted)
	}
	cluster.SetFinalizers(t, ns, "foo", "null")
}
