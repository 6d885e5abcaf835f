package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// The commands on the page about custom kinds work in the order of the page.
func TestYourOwnKind(t *testing.T) {
	t.Parallel()
	env := inContext(t, cluster.NewNamespace(t))
	dir := t.TempDir()
	bases := filepath.Join(dir, "config/crd/bases")
	if err := os.MkdirAll(bases, 0o750); err != nil {
		t.Fatal(err)
	}
	const scaffolded = "webapp.example.com_guestbooks.yaml"
	if err := os.WriteFile(filepath.Join(bases, scaffolded), []byte(harness.ReadFile(t, "testdata/kubebuilder/"+scaffolded)), 0o600); err != nil {
		t.Fatal(err)
	}
	var l *harness.Process
	tried := 0
	page := harness.ReadFile(t, "../../docs/your-own-kind.md")
	for _, block := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", " ")) {
			line, tried = strings.TrimSpace(line), tried+1
			if args, is := strings.CutPrefix(line, "kubectl imoocpod run-controller "); is {
				if l != nil {
					l.Stop()
				}
				l = cluster.StartPlugin(t, append([]string{"run-controller", kubeconfigIn(t, env)}, harness.Words(args)...)...)
				continue
			}
			c := exec.CommandContext(t.Context(), "bash", "-c", "set -o pipefail; "+line)
			c.Env, c.Dir = env, dir
			out, err := c.CombinedOutput()
			switch {
			case strings.Contains(line, "kinds new"):
				removeCRD(t, "workers.example.com")
			case strings.HasPrefix(line, "kubectl apply"):
				removeCRD(t, "guestbooks.webapp.example.com")
			}
			if err != nil {
				t.Fatalf("%s: %v\n%s", line, err, out)
			}
		}
	}
	if tried < 15 || l == nil {
		t.Errorf("the page has %d commands", tried)
	}
}

// kubeconfigIn returns a --kubeconfig flag with the value of KUBECONFIG in an environment.
func kubeconfigIn(t *testing.T, env []string) string {
	t.Helper()
	for _, variable := range slices.Backward(env) {
		if file, is := strings.CutPrefix(variable, "KUBECONFIG="); is {
			return "--kubeconfig=" + file
		}
	}
	t.Fatal("the environment names no kubeconfig")
	return ""
}

// inContext returns an environment in which the namespace is the current namespace of the kubeconfig,
// and the plugin is installed as krew would install it.
func inContext(t *testing.T, namespace string) []string {
	t.Helper()
	_, env := asKrew(t)
	return append(append(cluster.Environment(), env...), "KUBECONFIG="+cluster.KubeconfigIn(t, namespace))
}
