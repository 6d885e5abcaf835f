package node

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// TestNodeStopsAndComesBack checks that status and wait report a lost node, and that the pod becomes
// ready when the node is back. It also checks that a container restarts if its node restarts before the
// control plane detects the failure.
func TestNodeStopsAndComesBack(t *testing.T) {
	const namespace, name = "shaky", "foo"
	w, _ := startIn(t, namespace)
	create(t, namespace, name, shakyNode, 1, "containers: [{command: [act, -http=:8080], "+whenReady+"}]")
	wait := func() {
		t.Helper()
		cluster.Imoocpod(t, namespace, "wait", name, "--fail-after=never", patient)
	}
	wait()

	cluster.Tell(t, "kill "+shakyNode)
	w.await(t, "the pod on the stopped node is not ready", name, func(pods []*corev1.Pod, _ []*corev1.Event) bool {
		return len(pods) == 1 && !isReady(pods[0])
	})
	truth{name: name, verdict: status.Failed, code: problem.CodeNodeLost}.check(t, look(t, namespace, name))
	r := cluster.Kubectl(t, namespace, "imoocpod", "wait", name, "--timeout=1m", "--fail-after=1s")
	if r.Code != harness.ExitFailed {
		t.Errorf("wait for a pod on a lost node = %+v, want exit code %d", r, harness.ExitFailed)
	}
	w.record(t, name, "node-stopped", shakyNode)
	cluster.Tell(t, "start "+shakyNode)
	wait()

	// Restart the node before it becomes unreachable.
	cluster.Tell(t, "kill "+shakyNode)
	cluster.Tell(t, "start "+shakyNode)
	w.await(t, "the container has restarted", name, restarted(2))
	wait()
	truth{name: name, verdict: status.Ready, code: problem.CodeReady}.check(t, look(t, namespace, name))
	w.record(t, name, "node-rebooted", shakyNode)
}

// TestNodeLeavesNothingBehind checks that the processes, mounts, and cgroups of a node end with its
// launcher ("cluster serve"), regardless of how the launcher exits.
func TestNodeLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			serve := exec.Command(cluster.Launcher, "serve", "--nodes=0", "--real-nodes=1")
			var stderr strings.Builder
			serve.Stderr = &stderr
			stdin, err := serve.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer stdin.Close()
			stdout, err := serve.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := serve.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(stdout).ReadBytes('\n')
			if err != nil {
				t.Fatalf("read the first line of cluster serve: %v; stderr: %s", err, stderr.String())
			}
			var other struct{ Kubeconfig, Dir string }
			if err := json.Unmarshal(line, &other); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{
				// The service account is created shortly after the server starts. Until then, pods are rejected.
				{"wait", "serviceaccount/default", "--for=create", patient},
				{"run", "it", "--image=busybox", "--", "sleep", "infinity"},
				{"wait", "pod/it", "--for=condition=Ready", patient},
			} {
				harness.Must(t, cluster.Kubectl(t, "", append([]string{"--kubeconfig=" + other.Kubeconfig}, args...)...))
			}
			if err := serve.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, stdout)
			_ = serve.Wait() // killed on purpose

			var left []string
			ended := func() bool {
				left = remains(t, other.Dir)
				return len(left) == 0
			}
			if !eventually(t, ended) {
				t.Errorf("still there after the launcher got the signal %s:\n%s", signal, strings.Join(left, "\n"))
			}
		})
	}
}

// remains returns the processes and mounts that refer to the directory of a launcher, and the cgroups of its node.
func remains(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range processes {
		data, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(data), dir) {
			found = append(found, fmt.Sprintf("%s: %s", file, strings.ReplaceAll(string(data), "\x00", " ")))
		}
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), dir) {
		found = append(found, "mounts")
	}
	name := fmt.Sprintf("/imoocpod-node-%x", sha256.Sum256([]byte(dir+"/real-0")))[:31]
	groups, err := filepath.Glob("/sys/fs/cgroup/*" + name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/sys/fs/cgroup" + name); err == nil {
		groups = append(groups, name)
	}
	return append(found, groups...)
}
