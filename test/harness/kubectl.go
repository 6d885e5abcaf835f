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

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Result is the result of a command.
type Result struct {
	Line           string
	Stdout, Stderr string
	Code           int
}

// Kubectl runs the real kubectl in a namespace. kubectl finds the plugin on PATH. If the namespace
// is empty, -n is not set.
func (c *Cluster) Kubectl(t *testing.T, namespace string, args ...string) Result {
	t.Helper()
	return c.KubectlFrom(t, "", nil, namespace, args...)
}

// KubectlFrom is like Kubectl, with standard input and additional environment variables, such as "KUBECONFIG=…".
func (c *Cluster) KubectlFrom(t *testing.T, stdin string, env []string, namespace string, args ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*Timeout) // Timeout is too short for commands with --timeout 5m
	defer cancel()
	if namespace != "" {
		args = inNamespace(namespace, args)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(c.Bin, "kubectl"), args...)
	cmd.Env = append(c.Environment(), env...)
	cmd.Stdin = strings.NewReader(stdin)
	return run(t, cmd, "kubectl "+strings.Join(args, " "))
}

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

// inNamespace inserts -n after the verb, because kubectl runs a plugin only if its name is before all flags.
func inNamespace(namespace string, args []string) []string {
	at := 1
	if args[0] == "imoocpod" {
		at = min(2, len(args))
	}
	return append(append(append([]string{}, args[:at]...), "-n", namespace), args[at:]...)
}

// Environment returns the environment in which kubectl and the plugin find each other and the control plane.
func (c *Cluster) Environment() []string {
	path := os.Getenv("PATH")
	for _, dir := range []string{c.Bin, c.PluginDir} {
		if dir != "" {
			path = dir + string(os.PathListSeparator) + path
		}
	}
	return append(os.Environ(),
		"KUBECONFIG="+c.Kubeconfig,
		// Use a separate discovery cache. The default cache is keyed by host and port, and another control plane
		// may have used the same port.
		"KUBECACHEDIR="+filepath.Join(c.Dir, "cache"),
		"PATH="+path,
		// By default, a process with the race detector sleeps for a second before it exits.
		"GORACE=halt_on_error=1 atexit_sleep_ms=10",
		// By default, short commands use a quarter of their CPU time for garbage collection.
		"GOGC=400")
}

// Imoocpod runs "kubectl imoocpod …", and fails the test if the command fails.
func (c *Cluster) Imoocpod(t *testing.T, namespace string, args ...string) string {
	t.Helper()
	return Must(t, c.Kubectl(t, namespace, append([]string{"imoocpod"}, args...)...))
}

// Must returns the standard output of a command. If the command failed, Must fails the test.
func Must(t *testing.T, r Result) string {
	t.Helper()
	if r.Code != 0 {
		t.Fatalf("%s: exit code %d\nstdout: %s\nstderr: %s", r.Line, r.Code, r.Stdout, r.Stderr)
	}
	return r.Stdout
}

// KubeconfigWith writes a copy of the admin kubeconfig, and returns its path. In the copy, change can modify the
// current context, and the cluster and the user of this context.
func (c *Cluster) KubeconfigWith(t *testing.T, change func(*clientcmdapi.Context, *clientcmdapi.Cluster, *clientcmdapi.AuthInfo)) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	current := config.Contexts[config.CurrentContext]
	change(current, config.Clusters[current.Cluster], config.AuthInfos[current.AuthInfo])
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// AwaitEstablished waits until the CRDs are served. crds are arguments of "kubectl wait", such as
// "crd/NAME". The command runs repeatedly, because it fails for a CRD without conditions.
func (c *Cluster) AwaitEstablished(t *testing.T, crds ...string) {
	t.Helper()
	Eventually(t, strings.Join(crds, " ")+" are served", func() bool {
		return c.Kubectl(t, "", append([]string{"wait", "--for=condition=Established", "--timeout=2m"}, crds...)...).Code == 0
	})
}

// Words splits a command line at spaces. A word that is only a double quote becomes an empty word.
func Words(line string) []string {
	list := strings.Fields(line)
	for i, word := range list {
		if word == `"` {
			list[i] = ""
		}
	}
	return list
}
