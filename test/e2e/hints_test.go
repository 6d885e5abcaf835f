package e2e

import (
	"regexp"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// A hint uses the cluster and the user of the command that printed it, even if another
// context is current.
func TestHintsActWhereTheyWerePrinted(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	kubeconfig := harness.WriteFile(t, harness.ReadFile(t, cluster.Kubeconfig))
	for _, args := range [][]string{
		{"set-cluster", "elsewhere", "--server", "https://127.0.0.1:1"},
		{"set-context", "elsewhere", "--cluster", "elsewhere", "--user", "nobody"},
		{"use-context", "elsewhere"},
	} {
		harness.Must(t, cluster.Kubectl(t, "", append(append([]string{"config"}, args...), "--kubeconfig", kubeconfig)...))
	}
	there := []string{"--kubeconfig", kubeconfig, "--context", "cluster", "--as", "bob", "--as-group", "system:masters"}
	run := func(args ...string) harness.Result {
		t.Helper()
		return cluster.Kubectl(t, ns, append(append([]string{"imoocpod"}, args...), there...)...)
	}
	cluster.StartRunController(t, ns)
	harness.Must(t, run("create", "foo", "--replicas", "1", "--wait", "--timeout", "1m"))
	harness.Must(t, run("pause", "foo", "--for", "forever"))
	for _, row := range []struct {
		args []string
		code int
		hint string
	}{
		{[]string{"undo", "foo"}, harness.ExitError, "history foo"},
		{[]string{"scale", "foo", "--replicas", "2"}, 0, "resume imoocpod/foo"},
	} {
		r := run(row.args...)
		hint := regexp.MustCompile(`(?m)^hint: (kubectl imoocpod ` + row.hint + ` .*)$`).FindStringSubmatch(r.Stderr)
		if r.Code != row.code || hint == nil {
			t.Errorf("%s: exit code %d, said %q, want a hint to %s", r.Line, r.Code, r.Stderr, row.hint)
			continue
		}
		harness.Must(t, cluster.Shell(t, hint[1]))
	}
	if paused := harness.Must(t, cluster.Kubectl(t, ns, "get", "imoocpod", "foo", "-o", `jsonpath={.metadata.annotations.imoocpod\.dev/paused-until}`)); paused != "" {
		t.Errorf("it is paused until %q after the hint to resume it", paused)
	}
}
