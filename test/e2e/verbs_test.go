package e2e

import (
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// The verbs work with a real server and a real controller, and exit with the documented codes. The commands run in the
// order of the table.
func TestEveryVerb(t *testing.T) {
	t.Parallel()
	installKinds(t)
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	cluster.CreateObject(t, "", "fleets.cluster-scoped.example.com",
		"{apiVersion: cluster-scoped.example.com/v1, kind: Fleet, metadata: {name: "+ns+"}, spec: {replicas: 2}}")
	for _, test := range []struct {
		args string
		code int
		says string
	}{
		{"create foo --replicas 2 --timeout 2m --wait", 0, "foo created"},
		{"create foo", harness.ExitPrecondition, "already exists"},
		{"scale foo --by +1 --timeout 2m", 0, "foo scaled"},
		{"restart foo --timeout 2m", 0, "foo restarted"},
		{"pause foo --for 1h --reason INC-7", 0, "foo paused"},
		{"set env foo A=b", 0, "foo env updated"},
		{"wait foo --timeout 1h", harness.ExitFailed, "is paused: "},
		{"run-controller --dry-run", 0, "blocked: paused until "},
		{"resume foo", 0, "foo resumed"},
		{"set resources foo --requests cpu=1m --timeout 2m", 0, "foo resource requirements updated"},
		{"history foo --diff 1..2", 0, "+++ imoocpod/foo revision 2"},
		{"undo foo --timeout 2m", 0, "foo undone"},
		{"set image foo no-such-image --on-failure=revert --fail-after 1s --timeout 2m", harness.ExitUndone, "imoocpod/foo undone: image no-such-image → "},
		{"park foo --wait --timeout 2m", 0, "foo parked"},
		{"unpark foo --timeout 2m", 0, "foo unparked"},
		{"status foo --exit-code", 0, "ready: 3 of 3 pods ready"},
		{"describe foo", 0, "3 of 3 pods ready"},
		{"wait foo --for=jsonpath={.status.readyReplicas}=3 --timeout 2m", 0, "condition met"},
		{"logs foo", harness.ExitError, "read the log of container"}, // simulated kubelets have no logs
		{"logs foo -f --failing", harness.ExitNotFound, "all pods of imoocpod/foo are ready"},
		{"scale foo --replicas 1", harness.ExitNotFound, `"foo" not found`},
		{"create foo --as nobody", harness.ExitForbidden, "is forbidden"},
		{"scale fleet/" + ns + " --replicas 6", harness.ExitError, "a fleet has no more than five nodes"},
		{"run-controller -n e2e-no-such-namespace", harness.ExitNotFound, `namespaces "e2e-no-such-namespace" not found`},
		{"kinds fleets -o yaml", 0, "resource: fleets"},
		{"kinds rbac imoocpods", 0, "imoocpods/status"},
		{"version", 0, "Server Version"},
	} {
		args := append([]string{"imoocpod"}, harness.Words(test.args)...)
		if strings.HasPrefix(test.args, "logs foo -f") { // the command ends when the object is deleted
			p := cluster.StartPlugin(t, append(args[1:], "-n", ns)...)
			p.AwaitOutput(test.says)
			cluster.Imoocpod(t, ns, "delete", "foo", "--cascade=foreground")
			if code := p.Wait(); code != test.code {
				t.Errorf("%s: exit code %d, want %d", test.args, code, test.code)
			}
			continue
		}
		namespace := ns
		if strings.Contains(test.args, " -n ") {
			namespace = ""
		}
		if r := cluster.Kubectl(t, namespace, args...); r.Code != test.code || !strings.Contains(r.Stdout+r.Stderr, test.says) {
			t.Errorf("%s: exit code %d, want %d; stdout %q, stderr %q, want %q in one of them", test.args, r.Code, test.code, r.Stdout, r.Stderr, test.says)
		}
	}
}
