package e2e

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// refusal is an invalid command line and its expected result.
type refusal struct {
	// args holds the words after "kubectl imoocpod".
	args string
	// env is added to the environment.
	env  []string
	code int
	// says lists strings that the message must contain.
	says []string
	// prints is a regular expression for the beginning of standard output, or "" if
	// there must be no output.
	prints string
}

// mustRefuse runs the command lines, and checks their results and that their
// messages follow the rules for all messages.
func mustRefuse(t *testing.T, namespace string, refusals []refusal) {
	t.Helper()
	for _, r := range refusals {
		t.Run(r.args, func(t *testing.T) {
			t.Parallel()
			r.check(t, cluster.KubectlWith(t, r.env, namespace, append([]string{"imoocpod"}, harness.Words(r.args)...)...))
		})
	}
}

func (r refusal) check(t *testing.T, got harness.Result) {
	t.Helper()
	if got.Code != r.code {
		t.Errorf("exit code %d, want %d", got.Code, r.code)
	}
	if r.prints == "" && got.Stdout != "" || !regexp.MustCompile("^"+r.prints).MatchString(got.Stdout) {
		t.Errorf("printed %q, want %q", got.Stdout, r.prints)
	}
	for _, want := range r.says {
		if !strings.Contains(got.Stderr, want) {
			t.Errorf("said %q, want %q in it", got.Stderr, want)
		}
	}
	if lines := strings.Count(got.Stderr, "\n"); lines < 1 || lines > 2 || !strings.HasSuffix(got.Stderr, "\n") {
		t.Errorf("said %d lines, want one or two:\n%s", lines, got.Stderr)
	}
	if !regexp.MustCompile(`^(error: |Error from server|The |Unable to connect to )`).MatchString(got.Stderr) {
		t.Errorf("said %q, which does not begin as kubectl's errors do", got.Stderr)
	}
	for _, never := range []string{"goroutine", "panic", ".go:", "strconv.", "%!", "<nil>"} {
		if strings.Contains(got.Stderr, never) {
			t.Errorf("said %q, with %q in it", got.Stderr, never)
		}
	}
	if usage := strings.Contains(got.Stderr, " --help' for usage."); usage != (r.code == harness.ExitUsage) {
		t.Errorf("said %q: only usage errors refer to the help", got.Stderr)
	}
}

func TestBadNamespace(t *testing.T) {
	t.Parallel()
	cluster.InstallCRDs(t)
	const missing = "e2e-there-is-no-such-namespace"
	gone := refusal{code: harness.ExitNotFound, says: []string{fmt.Sprintf("Error from server (NotFound): namespaces %q not found", missing)}}
	as := func(args, prints string) refusal {
		r := gone
		r.args, r.prints = args, prints
		return r
	}
	mustRefuse(t, missing, []refusal{
		as("create foo", ""),
		as("create foo --dry-run=server", ""),
		as("run-controller", `\d\d:\d\d:\d\d Starting the controller for `),
		{args: "scale foo --replicas 3", code: harness.ExitNotFound, says: []string{`"foo" not found`}},
		{args: "describe foo", code: harness.ExitNotFound, says: []string{`"foo" not found`}},
		{args: "delete foo", code: harness.ExitNotFound, says: []string{`"foo" not found`}},
	})
	mustRefuse(t, "a/b", []refusal{{args: "create foo", code: harness.ExitUsage, says: []string{`invalid namespace "a/b"`}}})
}

// Nothing can be created in a terminating namespace.
func TestTerminatingNamespace(t *testing.T) {
	t.Parallel()
	cluster.InstallCRDs(t)
	ns := cluster.NamespaceName()
	harness.Must(t, cluster.Kubectl(t, "", "create", "namespace", ns))
	cluster.Apply(t, ns, `{apiVersion: v1, kind: ConfigMap, metadata: {name: hold, finalizers: [example.com/hold]}}`)
	t.Cleanup(func() {
		_, err := cluster.Core.ConfigMaps(ns).Patch(context.Background(), "hold", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err != nil {
			t.Error(err)
		}
	})
	harness.Must(t, cluster.Kubectl(t, "", "delete", "namespace", ns, "--wait=false"))
	refusal{code: harness.ExitForbidden, says: []string{`"foo" is forbidden`, "namespace " + ns + " because it is being terminated"}}.
		check(t, cluster.Kubectl(t, ns, "imoocpod", "create", "foo"))
}
