package e2e

import (
	"regexp"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// The output of logs if there are none. The kubelets here are simulated; test/node
// follows real containers.

func TestLogsBadInput(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	usage := func(args, says string) refusal {
		return refusal{args: args, code: harness.ExitUsage, says: []string{says}}
	}
	mustRefuse(t, ns, []refusal{
		usage("logs", "a NAME or TYPE/NAME is required"),
		usage("logs foo -f -p", "--previous and --follow cannot be used together"),
		usage("logs foo -c main --all-containers", "--container and --all-containers cannot be used together"),
		usage("logs foo --tail -2", "--tail must be -1 (all) or more"),
		usage("logs foo --since -1s", "--since must be more than 0"),
		usage("logs foo --max-log-requests 0", "--max-log-requests must be 1 or more"),
		usage("logs foo -o yaml", `unknown output format "yaml": must be json or raw`),
		usage("logs foo --color sometimes", `must be "auto", "always", or "never"`),
		{args: "logs foo", code: harness.ExitNotFound, says: []string{`"foo" not found`}},
		{args: "logs foo -f", code: harness.ExitNotFound, says: []string{`"foo" not found`}},
		{args: "logs nonsense/foo", code: harness.ExitNotFound, says: []string{`doesn't have a resource type "nonsense"`}},
	})
}

func TestLogsWithoutLogs(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	cluster.Imoocpod(t, ns, "create", "none", "--replicas", "0", "--wait")
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "3", "--wait")
	cluster.Imoocpod(t, ns, "create", "stuck", "--replicas", "1", "--image", "no-such-image")
	harness.Eventually(t, "the image cannot be pulled", func() bool {
		return cluster.Imoocpod(t, ns, "status", "stuck", "-o", "jsonpath={.reasonCode}") == "ImagePullFailed"
	})
	for args, says := range map[string]string{
		"logs none":            "imoocpod/none has no pods\n",
		"logs foo --failing":   "all pods of imoocpod/foo are ready\n",
		"logs foo -p --slot 1": "--- 1: container busybox was never restarted, so it has no previous log\n",
		"logs stuck":           "--- 0: container main has not started, so there is no log: container main cannot pull its image",
	} {
		r := cluster.Kubectl(t, ns, append([]string{"imoocpod"}, harness.Words(args)...)...)
		if r.Code != 0 || r.Stdout != "" || !strings.HasPrefix(r.Stderr, says) {
			t.Errorf("%s: exit code %d, printed %q, said %q, want %q", args, r.Code, r.Stdout, r.Stderr, says)
		}
	}
	for args, says := range map[string]string{
		"logs foo -c other":  `no pod of imoocpod/foo has a container "other"; choose one of: busybox`,
		"logs foo --slot 17": "imoocpod/foo has no pod whose name ends in -17",
		"logs foo":           "read the log of container busybox of pod foo-",
	} {
		r := cluster.Kubectl(t, ns, append([]string{"imoocpod"}, harness.Words(args)...)...)
		if r.Code != harness.ExitError || r.Stdout != "" || !strings.Contains(r.Stderr, says) {
			t.Errorf("%s: exit code %d, printed %q, said %q, want %q", args, r.Code, r.Stdout, r.Stderr, says)
		}
	}

	// A single pod is shown.
	pod := strings.TrimPrefix(harness.Must(t, cluster.Kubectl(t, ns, "get", "pods", "-o", "name", "-l", apis.LabelSlot+"=1")), "pod/")
	pod = strings.TrimSpace(pod)
	r := cluster.Kubectl(t, ns, "imoocpod", "logs", "pod/"+pod)
	if r.Code != harness.ExitError || r.Stdout != "" || strings.Count(r.Stderr, "read the log of container") != 1 || !strings.Contains(r.Stderr, " of pod "+pod) {
		t.Errorf("%s: exit code %d, printed %q, said %q", r.Line, r.Code, r.Stdout, r.Stderr)
	}
	if r := cluster.Kubectl(t, ns, "imoocpod", "logs", "pod/"+pod, "--failing"); r.Code != 0 || r.Stderr != "pod/"+pod+" is ready\n" {
		t.Errorf("%s: exit code %d, said %q", r.Line, r.Code, r.Stderr)
	}

	// A user who may read pods but not their logs sees one error with the missing rule.
	looker := lookerIn(t, ns)
	for _, follow := range []string{"--follow=false", "--follow"} {
		r := cluster.Kubectl(t, ns, "imoocpod", "logs", "foo", follow, "--as", looker)
		if r.Code != harness.ExitForbidden || strings.Count(r.Stderr, `{apiGroups: [""], resources: [pods/log], verbs: [get]}`) != 1 {
			t.Errorf("exit code %d, said %q", r.Code, r.Stderr)
		}
	}
	if r := cluster.Kubectl(t, ns, "imoocpod", "logs", "foo", "--as", "nobody"); r.Code != harness.ExitForbidden {
		t.Errorf("exit code %d, said %q", r.Code, r.Stderr)
	}
}

// lookerIn creates a user who may read the ImoocPods and pods of a namespace, but not
// their logs.
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
