package e2e

import (
	"regexp"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// The tests in this file check the output of the verb logs if there are no logs,
// because the kubelets here are simulated. test/node follows the logs of real
// containers.

// lookerIn creates a user who can read the ImoocPods and pods of a namespace, but not
// the logs of the pods, and returns the name of the user.
func lookerIn(t *testing.T, ns string) string {
	t.Helper()
	user := "looker-" + ns
	cluster.Apply(t, ns, `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: looker}
rules:
- {apiGroups: [batch.tutorial.kubebuilder.io], resources: [imoocpods], verbs: [get, list, watch]}
- {apiGroups: [""], resources: [pods], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: looker}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: looker}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: `+user+`}]`)
	harness.Eventually(t, "the looker has rights", func() bool {
		return cluster.Kubectl(t, ns, "auth", "can-i", "list", "pods", "--as", user).Code == 0
	})
	return user
}

// A command that follows logs ends when the object is gone, and on Ctrl-C.
func TestLogsFollowUntilGone(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "0", "--wait")
	follow, stopped := cluster.StartPlugin(t, "logs", "foo", "-f", "-n", ns), cluster.StartPlugin(t, "logs", "foo", "-f", "-n", ns)
	follow.AwaitOutput("imoocpod/foo has no pods yet")
	stopped.AwaitOutput("imoocpod/foo has no pods yet")
	if code := stopped.Stop(); code != harness.ExitInterrupted {
		t.Errorf("after Ctrl-C the exit code is %d", code)
	}
	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "1", "--timeout", "2m")
	for flags, says := range map[string]string{
		"--slot 7":       "imoocpod/foo has no pod whose name ends in -7 yet",
		"--container no": `no pod of imoocpod/foo has a container "no" yet`,
		"--failing":      "all pods of imoocpod/foo are ready",
	} {
		cluster.StartPlugin(t, append([]string{"logs", "foo", "-f", "-n", ns}, harness.Words(flags)...)...).AwaitOutput(says)
	}
	cluster.Imoocpod(t, ns, "delete", "foo")
	if code := follow.Wait(); code != harness.ExitNotFound || !strings.Contains(follow.Output(), "imoocpod/foo was deleted") {
		t.Errorf("exit code %d: %s", code, follow.Output())
	}
}

// A failed wait prints the container's logs below the reason, or why they cannot be
// read. test/node tests real logs.
func TestWaitWithLogs(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	mustRefuse(t, ns, []refusal{
		{args: "create foo --logs", code: harness.ExitUsage, says: []string{"--logs can only be used with a command that waits"}},
		{args: "scale foo --replicas 2 --logs", code: harness.ExitUsage, says: []string{"--logs can only be used with a command that waits"}},
		{args: "run-controller --logs", code: harness.ExitUsage, says: []string{"unknown flag: --logs"}},
	})
	for image, says := range map[string]string{
		"crashes":       `error: imoocpod/crashes has failed: pod (\S+): container main crashes: [^\n]+\n(?s:.*)the log of container main of pod (\S+) cannot be read: [^\n]+\n(hint: [^\n]+\n)*`,
		"no-such-image": `error: imoocpod/no-such-image has failed: pod (\S+): container main cannot pull its image [^\n]+\n(?s:.*)there is no log of a container that failed\n(hint: [^\n]+\n)*`,
	} {
		cluster.Imoocpod(t, ns, "create", image, "--image", image)
		for _, verb := range []string{"wait", "status --wait", "restart --wait", "scale --replicas 1 --timeout 1h"} {
			r := cluster.Kubectl(t, ns, append([]string{"imoocpod"}, harness.Words(verb+" "+image+" --logs --fail-after 0s")...)...)
			if r.Code != harness.ExitFailed || !regexp.MustCompile(says+"$").MatchString(r.Stderr) {
				t.Errorf("%s: exit code %d, said %q, want %q at its end", r.Line, r.Code, r.Stderr, says)
			}
		}
	}

	// A missing right to read logs hides neither the reason nor the exit code.
	looker := lookerIn(t, ns)
	r := cluster.Kubectl(t, ns, "imoocpod", "wait", "crashes", "--logs", "--fail-after", "0s", "--as", looker)
	if r.Code != harness.ExitFailed || !strings.Contains(r.Stderr, "error: imoocpod/crashes has failed: pod ") || !strings.Contains(r.Stderr, "cannot be read: no permission to read the logs of pods in namespace "+ns) {
		t.Errorf("%s: exit code %d, said %q", r.Line, r.Code, r.Stderr)
	}
	for _, verb := range []string{"status", "describe"} {
		if r := cluster.Kubectl(t, ns, "imoocpod", verb, "crashes", "--as", looker); r.Code != 0 || strings.Contains(r.Stdout, "last log line") {
			t.Errorf("%s: exit code %d, printed %q, said %q", r.Line, r.Code, r.Stdout, r.Stderr)
		}
	}
}
