package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// result is what a command line came to.
type result struct {
	line           string
	stdout, stderr string
	code           int
}

// kubectl runs a real kubectl, which finds the plugin on PATH, in a namespace.
// An empty namespace gives no -n.
func kubectl(t *testing.T, namespace string, args ...string) result {
	t.Helper()
	return kubectlWith(t, nil, namespace, args...)
}

// kubectlWith is kubectl with more environment, such as "KUBECONFIG=…".
func kubectlWith(t *testing.T, env []string, namespace string, args ...string) result {
	t.Helper()
	return kubectlFrom(t, "", env, namespace, args...)
}

// kubectlFrom is kubectlWith with something to read.
func kubectlFrom(t *testing.T, stdin string, env []string, namespace string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	if namespace != "" {
		args = inNamespace(namespace, args)
	}
	cmd := exec.CommandContext(ctx, cluster.Bin+"/kubectl", args...)
	cmd.Env = append(environment(), env...)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	r := result{line: "kubectl " + strings.Join(args, " "), stdout: stdout.String(), stderr: stderr.String()}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		r.code = exit.ExitCode()
	case err != nil:
		t.Fatalf("%s: %v", r.line, err)
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

func environment() []string {
	return append(os.Environ(),
		"KUBECONFIG="+cluster.Kubeconfig,
		// What is discovered is kept by host and port, and this port may have been
		// another control plane's.
		"KUBECACHEDIR="+cluster.Dir+"/cache",
		"PATH="+cluster.pluginDir+string(os.PathListSeparator)+cluster.Bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		// A process with the race detector sleeps for a second before it ends,
		// in case there is more to find: with a command to a line, too much.
		"GORACE=halt_on_error=1 atexit_sleep_ms=10")
}

// imoocpod runs "kubectl imoocpod …" and fails the test unless it succeeds.
func imoocpod(t *testing.T, namespace string, args ...string) string {
	t.Helper()
	return must(t, kubectl(t, namespace, append([]string{"imoocpod"}, args...)...))
}

// must fails the test unless the command succeeded, and returns its output.
func must(t *testing.T, r result) string {
	t.Helper()
	if r.code != 0 {
		t.Fatalf("%s: exit code %d\nstdout: %s\nstderr: %s", r.line, r.code, r.stdout, r.stderr)
	}
	return r.stdout
}
