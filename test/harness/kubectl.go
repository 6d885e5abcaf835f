package harness

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Result is what a command line came to.
type Result struct {
	Line           string
	Stdout, Stderr string
	Code           int
}

// Kubectl runs a real kubectl, which finds the plugin on PATH, in a namespace.
// An empty namespace gives no -n.
func (c *Cluster) Kubectl(t *testing.T, namespace string, args ...string) Result {
	t.Helper()
	return c.KubectlWith(t, nil, namespace, args...)
}

// KubectlWith is Kubectl with more environment, such as "KUBECONFIG=…".
func (c *Cluster) KubectlWith(t *testing.T, env []string, namespace string, args ...string) Result {
	t.Helper()
	return c.KubectlFrom(t, "", env, namespace, args...)
}

// KubectlFrom is KubectlWith with something to read.
func (c *Cluster) KubectlFrom(t *testing.T, stdin string, env []string, namespace string, args ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*Timeout) // it waits itself, with a limit of its own
	defer cancel()
	if namespace != "" {
		args = inNamespace(namespace, args)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(c.Bin, "kubectl"), args...)
	cmd.Env = append(c.Environment(), env...)
	cmd.Stdin = strings.NewReader(stdin)
	r := run(t, cmd, "kubectl "+strings.Join(args, " "))
	if args[0] == "imoocpod" {
		CheckHints(t, args[1:], r.Stdout+"\n"+r.Stderr)
	}
	return r
}

// run runs a command to its end.
func run(t *testing.T, cmd *exec.Cmd, line string) Result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	r := Result{Line: line, Stdout: stdout.String(), Stderr: stderr.String()}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		r.Code = exit.ExitCode()
	case err != nil:
		t.Fatalf("%s: %v", r.Line, err)
	}
	return r
}

// inNamespace puts -n behind the verb: kubectl dispatches to a plugin only
// where no flag comes before its name.
func inNamespace(namespace string, args []string) []string {
	at := 1
	if args[0] == "imoocpod" {
		at = min(2, len(args))
	}
	return append(append(append([]string{}, args[:at]...), "-n", namespace), args[at:]...)
}

// Environment is what kubectl and the plugin are run in: they find each other and
// the control plane.
func (c *Cluster) Environment() []string {
	path := os.Getenv("PATH")
	for _, dir := range []string{c.Bin, c.PluginDir} {
		if dir != "" {
			path = dir + string(os.PathListSeparator) + path
		}
	}
	return append(os.Environ(),
		"KUBECONFIG="+c.Kubeconfig,
		// What is discovered is kept by host and port, and this port may have been
		// another control plane's.
		"KUBECACHEDIR="+filepath.Join(c.Dir, "cache"),
		"PATH="+path,
		// A process with the race detector sleeps for a second before it ends,
		// in case there is more to find: with a command to a line, too much.
		"GORACE=halt_on_error=1 atexit_sleep_ms=10",
		// Of the processor time of a command that ends at once, a quarter goes to collecting garbage.
		"GOGC=400")
}

// Imoocpod runs "kubectl imoocpod …" and fails the test unless it succeeds.
func (c *Cluster) Imoocpod(t *testing.T, namespace string, args ...string) string {
	t.Helper()
	return Must(t, c.Kubectl(t, namespace, append([]string{"imoocpod"}, args...)...))
}

// Must fails the test unless the command succeeded, and returns its output.
func Must(t *testing.T, r Result) string {
	t.Helper()
	if r.Code != 0 {
		t.Fatalf("%s: exit code %d\nstdout: %s\nstderr: %s", r.Line, r.Code, r.Stdout, r.Stderr)
	}
	return r.Stdout
}

// AwaitEstablished waits until CRDs are served, which it names as kubectl does. "kubectl
// wait" alone fails for one that has no conditions yet.
func (c *Cluster) AwaitEstablished(t *testing.T, crds ...string) {
	t.Helper()
	Eventually(t, strings.Join(crds, " ")+" are served", func() bool {
		return c.Kubectl(t, "", append([]string{"wait", "--for=condition=Established", "--timeout=2m"}, crds...)...).Code == 0
	})
}

// Shell runs a command line that the plugin printed, as a person would paste it.
func (c *Cluster) Shell(t *testing.T, line string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Env = c.Environment()
	r := run(t, cmd, line)
	if rest, is := strings.CutPrefix(line, "kubectl imoocpod "); is {
		CheckHints(t, firstCommand(rest), r.Stdout+"\n"+r.Stderr)
	}
	return r
}

// Words splits a command line at blanks; " stands for an empty word.
func Words(line string) []string {
	list := strings.Fields(line)
	for i, word := range list {
		if word == `"` {
			list[i] = ""
		}
	}
	return list
}
