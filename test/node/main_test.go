// Package node tests the plugin and its controller with real kubelets, whose containers run, fail,
// hang, and are killed. "cluster serve --real-nodes" runs the nodes, which need Linux and root.
package node

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// cluster is the control plane and the nodes of this test run, set once before the tests.
var cluster *harness.Cluster

// record is the directory for recordings of what the kubelets write, or "" for no recordings. The
// tests of pkg/inspect/status use the recordings.
var record = flag.String("record", "", "record what the kubelets write for each row of TestRealPodStatus in this `directory`")

// deadline limits how long a test waits for a condition, and patient is the flag for commands that wait.
// Both are long, because machines can be busy, and no test checks durations.
const (
	deadline = 3 * time.Minute
	patient  = "--timeout=3m"
)

// The nodes. Tests that stop a node use shakyNode.
const (
	steadyNode = "real-0"
	shakyNode  = "real-1"
)

// controllerImage is the name that pods use for the image that "make image" builds.
const controllerImage = "ghcr.io/imoocpod/kubectl-imoocpod:test"

func TestMain(m *testing.M) {
	flag.Parse()
	// Run 12 tests at a time. They mostly wait, but each container start needs CPU time.
	if err := flag.Set("test.parallel", "12"); err != nil {
		fmt.Fprintln(os.Stderr, "test/node:", err)
		os.Exit(1)
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "test/node:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	scratch, err := os.MkdirTemp("", "imoocpod-node-")
	if err != nil {
		return 1, fmt.Errorf("create a directory for the test run: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	image := exec.Command("make", "-s", "-C", "../..", "image", "BIN="+scratch, "VERSION=test")
	if output, err := image.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("make image: %w\n%s", err, output)
	}
	var stop func() error
	if cluster, stop, err = harness.Start("../..", false,
		"--nodes=0", "--real-nodes=2", "--image="+controllerImage+"="+filepath.Join(scratch, "image"),
		// Detect a stopped node before the deadline of a test.
		"--arg=kube-controller-manager:--node-monitor-grace-period=20s",
		// Let shakyNode pull only one image per second, so that its kubelet throttles pulls.
		"--arg="+shakyNode+":--registry-qps=1", "--arg="+shakyNode+":--registry-burst=1"); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	return m.Run(), nil
}

func plugin() string { return filepath.Join(cluster.PluginDir, "kubectl-imoocpod") }

// newNamespace creates a namespace, and removes it when the test ends.
func newNamespace(t *testing.T, namespace string) {
	t.Helper()
	cluster.CreateNamespace(t, namespace)
	t.Cleanup(func() {
		// Do not wait for pods that terminate slowly.
		now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
		err := errors.Join(
			cluster.Core.Namespaces().Delete(context.Background(), namespace, metav1.DeleteOptions{}),
			cluster.Core.Pods(namespace).DeleteCollection(context.Background(), now, metav1.ListOptions{}))
		if err != nil {
			t.Error(err)
		}
	})
}

// startIn creates a namespace, watches it, and starts a controller for it.
func startIn(t *testing.T, namespace string) (*witness, *harness.Process) {
	t.Helper()
	newNamespace(t, namespace)
	return watchNamespace(t, namespace), cluster.StartRunController(t, namespace)
}

// eventually reports whether a condition becomes true before the deadline. It polls rarely, because
// conditions run commands, and the containers of other tests need the CPU time.
func eventually(t *testing.T, condition func() bool) bool {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), time.Second, deadline, true,
		func(context.Context) (bool, error) { return condition(), nil })
	return err == nil
}
