// Package node tests the plugin and its controller with real kubelets, whose
// containers run, fail, hang, and are killed. "cluster serve --real-nodes" runs
// the nodes, which needs Linux and root.
package node

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// cluster is the control plane and the nodes of this test run, set once before the
// tests.
var cluster controlPlane

// record is the directory for recordings of what the kubelets write, or "" to
// record nothing. The tests of pkg/inspect/status use the recordings.
var record = flag.String("record", "", "keep what the kubelets write of each row of TestTruths in this `directory`")

// deadline limits how long a test waits for something that normally takes a
// moment. It is generous for busy machines; no test checks durations.
const deadline = 3 * time.Minute

// The nodes. Tests that stop a node use the last one.
const (
	steadyNode = "real-0"
	shakyNode  = "real-1"
)

// controllerImage is the name of the image that "make image" builds.
const controllerImage = "ghcr.io/imoocpod/kubectl-imoocpod:test"

// controlPlane is the output of "cluster serve" about its control plane.
type controlPlane struct {
	Kubeconfig string `json:"kubeconfig"`
	Bin        string `json:"bin"`
	Dir        string `json:"dir"`

	launcher, plugin string

	mu     sync.Mutex
	stdin  io.Writer
	stdout *bufio.Reader

	dynamic *dynamic.DynamicClient
	core    *corev1client.CoreV1Client
}

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests mostly wait, but each start of a container needs CPU.
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
	cluster.plugin, cluster.launcher = filepath.Join(scratch, "bin", "kubectl-imoocpod"), filepath.Join(scratch, "cluster")
	image := filepath.Join(scratch, "image")
	for _, args := range [][]string{
		{"make", "-s", "-C", "../..", "build", "image", "BIN=" + scratch, "PLUGIN=" + cluster.plugin, "VERSION=test"},
		{"go", "build", "-C", "../cluster", "-o", cluster.launcher, "."},
	} {
		if output, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return 1, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, output)
		}
	}
	stop, err := cluster.start(image)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	return m.Run(), nil
}

// start starts a control plane with nodes, and returns a function that stops
// it. The control plane also stops when its standard input is closed, so it
// never outlives this process.
func (c *controlPlane) start(image string) (stop func() error, err error) {
	serve := exec.Command(c.launcher, "serve", "--nodes=0", "--real-nodes=2", "--image="+controllerImage+"="+image,
		// Detect a stopped node within the time of a test.
		"--arg=kube-controller-manager:--node-monitor-grace-period=20s",
		// Let this node pull only one image per second, so that pulls are throttled.
		"--arg="+shakyNode+":--registry-qps=1", "--arg="+shakyNode+":--registry-burst=1")
	serve.Stderr = os.Stderr
	stdin, err := serve.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start a control plane: %w", err)
	}
	stdout, err := serve.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start a control plane: %w", err)
	}
	if err := serve.Start(); err != nil {
		return nil, fmt.Errorf("start a control plane: %w", err)
	}
	stop = func() error {
		_ = stdin.Close()
		return serve.Wait()
	}
	c.stdin, c.stdout = stdin, bufio.NewReader(stdout)
	line, err := c.stdout.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("the control plane did not start (%w)", errors.Join(err, stop()))
	}
	if err := json.Unmarshal(line, c); err != nil {
		return nil, errors.Join(fmt.Errorf("read the output of the control plane (%q): %w", line, err), stop())
	}
	if err := c.connect(); err != nil {
		return nil, errors.Join(err, stop())
	}
	return stop, nil
}

func (c *controlPlane) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.QPS = -1
	if c.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	if c.core, err = corev1client.NewForConfig(config); err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	if r := command("", "imoocpod", "install"); r.code != 0 {
		return fmt.Errorf("install: %s", r)
	}
	return nil
}

// tell sends a command to the launcher, such as "kill real-1", and waits until it
// is done.
func (c *controlPlane) tell(t *testing.T, order string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := fmt.Fprintln(c.stdin, order); err != nil {
		t.Fatal(err)
	}
	answer, err := c.stdout.ReadString('\n')
	if err != nil || answer != "ok\n" {
		t.Fatalf("%s: %s %v", order, answer, err)
	}
}

func environment() []string {
	return append(os.Environ(),
		"KUBECONFIG="+cluster.Kubeconfig,
		"KUBECACHEDIR="+cluster.Dir+"/cache",
		"PATH="+filepath.Dir(cluster.plugin)+":"+cluster.Bin+":"+os.Getenv("PATH"))
}

// result is the output and the exit code of a command line.
type result struct {
	line           string
	stdout, stderr string
	code           int
}

func (r result) String() string {
	return fmt.Sprintf("%s: exit code %d\nstdout: %s\nstderr: %s", r.line, r.code, r.stdout, r.stderr)
}

// command runs the real kubectl, which finds the plugin on PATH, with stdin as its
// input.
func command(stdin string, args ...string) result {
	return execute(cluster.Bin+"/kubectl", stdin, args...)
}

// execute runs a program. Its timeout is longer than any --timeout in its
// arguments.
func execute(program, stdin string, args ...string) result {
	ctx, cancel := context.WithTimeout(context.Background(), 2*deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = environment()
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

// kubectl runs a command that must succeed, and returns its output.
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
	l := &loop{cmd: exec.Command(cluster.plugin, append([]string{"run-controller"}, args...)...), output: output, done: make(chan struct{})}
	l.cmd.Env = environment()
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

// end stops the controller with a signal, and waits until it has exited.
func (l *loop) end(signal os.Signal) {
	_ = l.cmd.Process.Signal(signal) // it may have exited already
	<-l.done
}
