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
	"strings"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// cluster is the control plane and the nodes of this test run, set once before the tests.
var cluster *harness.Cluster

// record is the directory for recordings of what the kubelets write, or "" for no recordings. The
// tests of pkg/inspect/status use the recordings.
var record = flag.String("record", "", "keep what the kubelets write of each row of TestTruths in this `directory`")

// deadline limits how long a test waits for something that usually takes a short time. It is long,
// because machines can be busy, and no test checks durations.
const deadline = 3 * time.Minute

// The nodes. Tests that stop a node use the last one.
const (
	steadyNode = "real-0"
	shakyNode  = "real-1"
)

// controllerImage is the name of the image that "make image" builds.
const controllerImage = "ghcr.io/imoocpod/kubectl-imoocpod:test"

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests mostly wait, but each container start needs CPU time.
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
		// Detect a stopped node within the time of a test.
		"--arg=kube-controller-manager:--node-monitor-grace-period=20s",
		// Let this node pull only one image per second, so that its kubelet throttles pulls.
		"--arg="+shakyNode+":--registry-qps=1", "--arg="+shakyNode+":--registry-burst=1"); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if r := command("", "imoocpod", "install"); r.code != 0 {
		return 1, fmt.Errorf("install: %s", r)
	}
	return m.Run(), nil
}

func plugin() string { return filepath.Join(cluster.PluginDir, "kubectl-imoocpod") }

type result struct {
	line           string
	stdout, stderr string
	code           int
}

func (r result) String() string {
	return fmt.Sprintf("%s: exit code %d\nstdout: %s\nstderr: %s", r.line, r.code, r.stdout, r.stderr)
}

// command runs the real kubectl with stdin as its input. kubectl finds the plugin on PATH.
func command(stdin string, args ...string) result {
	return execute(cluster.Bin+"/kubectl", stdin, args...)
}

// execute runs a program. Its timeout is longer than any --timeout in its arguments.
func execute(program, stdin string, args ...string) result {
	ctx, cancel := context.WithTimeout(context.Background(), 2*deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = cluster.Environment()
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	r := result{line: filepath.Base(program) + " " + strings.Join(args, " "), stdout: stdout.String(), stderr: stderr.String()}
	if err != nil {
		r.code = -1
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		r.code = exit.ExitCode()
	}
	return r
}

func kubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	r := command(stdin, args...)
	if r.code != 0 {
		t.Fatal(r)
	}
	return r.stdout
}

// loop is a run-controller process of the plugin under test.
type loop struct {
	cmd    *exec.Cmd
	output *os.File
	done   chan struct{}
}

// startLoop starts a run-controller, and stops it when the test ends.
func startLoop(t *testing.T, args ...string) *loop {
	t.Helper()
	output, err := os.Create(filepath.Join(t.TempDir(), "loop.log"))
	if err != nil {
		t.Fatal(err)
	}
	l := &loop{cmd: exec.Command(plugin(), append([]string{"run-controller"}, args...)...), output: output, done: make(chan struct{})}
	l.cmd.Env = cluster.Environment()
	l.cmd.Stdout, l.cmd.Stderr = output, output
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = l.cmd.Wait()
		close(l.done)
	}()
	t.Cleanup(func() {
		l.end(os.Interrupt)
		if t.Failed() {
			said, err := os.ReadFile(output.Name())
			t.Logf("output of the controller (%v):\n%s", err, said)
		}
		output.Close()
	})
	return l
}

func (l *loop) end(signal os.Signal) {
	_ = l.cmd.Process.Signal(signal) // fails if it has already exited
	<-l.done
}
