package node

import (
	"bufio"
	"context"
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
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// TestNodeStopsAndComesBack stops a node until it is not ready and its pods are lost, and starts it
// again. Then it checks that containers are restarted if their node restarts before the control
// plane detects the failure.
func TestNodeStopsAndComesBack(t *testing.T) {
	const namespace, name = "shaky", "foo"
	kubectl(t, "", "create", "namespace", namespace)
	w := watchNamespace(t, namespace)
	startLoop(t, "-n", namespace)
	kubectl(t, manifest(t, namespace, name, shakyNode, 1, "containers: [{name: main, command: "+act("-http=:8080")+", readinessProbe: {httpGet: {port: 8080, path: /ready}, periodSeconds: 1}}]"), "create", "-f", "-")
	wait := func(what ...string) {
		t.Helper()
		kubectl(t, "", append([]string{"imoocpod", "wait", name, "-n", namespace, "--fail-after=never", "--timeout=" + deadline.String()}, what...)...)
	}
	look := func() report {
		t.Helper()
		return truth{name: name}.lookIn(t, namespace)
	}
	wait()

	cluster.Tell(t, "kill "+shakyNode)
	w.await(t, "the node is missed", name, func(pods []*corev1.Pod, _ []*corev1.Event) bool {
		return len(pods) == 1 && !isReady(pods[0])
	})
	got := look()
	if got.Verdict != failed || got.ReasonCode != "NodeLost" {
		t.Errorf("with its node stopped: got %s, %s: %s", got.Verdict, got.ReasonCode, got.Reason)
	}
	if r := command("", "imoocpod", "wait", name, "-n", namespace, "--timeout=1m", "--fail-after=1s"); r.code != codeFailed {
		t.Errorf("a wait for a pod on a lost node: %s", r)
	}
	if *record != "" {
		w.record(t, name, "node-stopped", shakyNode)
	}
	cluster.Tell(t, "start "+shakyNode)
	wait()

	// Restart the node before it becomes unreachable.
	cluster.Tell(t, "kill "+shakyNode)
	cluster.Tell(t, "start "+shakyNode)
	w.await(t, "the container is started again", name, restarted(2))
	wait()
	if got := look(); got.Verdict != ready {
		t.Errorf("after its node restarted: got %s, %s: %s", got.Verdict, got.ReasonCode, got.Reason)
	}
	if *record != "" {
		w.record(t, name, "node-rebooted", shakyNode)
	}
	kubectl(t, "", "imoocpod", "delete", name, "-n", namespace)
	kubectl(t, "", "delete", "namespace", namespace)
}

// TestNothingOfANodeIsLeft checks that the processes, mounts, and cgroups of a node end with its
// launcher, regardless of how the launcher exits.
func TestNothingOfANodeIsLeft(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			serve := exec.Command(cluster.Launcher, "serve", "--nodes=0", "--real-nodes=1")
			var said strings.Builder
			serve.Stderr = &said
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
				t.Fatalf("%v: %s", err, said.String())
			}
			var other struct{ Kubeconfig, Dir string }
			if err := json.Unmarshal(line, &other); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{
				// The service account is created shortly after the server starts. Until then, pods
				// are rejected.
				{"wait", "serviceaccount/default", "--for=create", "--timeout=" + deadline.String()},
				{"run", "it", "--image=busybox", "--", "sleep", "infinity"},
				{"wait", "pod/it", "--for=condition=Ready", "--timeout=" + deadline.String()},
			} {
				if r := command("", append([]string{"--kubeconfig=" + other.Kubeconfig}, args...)...); r.code != 0 {
					t.Fatal(r)
				}
			}
			if err := serve.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, stdout)
			_ = serve.Wait() // killed on purpose

			var left []string
			err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
				left = remains(t, other.Dir)
				return len(left) == 0, nil
			})
			if err != nil {
				t.Errorf("%v: left behind: %s", err, strings.Join(left, "\n"))
			}
		})
	}
}

// remains returns the processes and mounts that refer to the directory of a launcher, and the
// cgroups of its node.
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
