// Package node holds the plugin and its loop to what a real kubelet says and
// does: containers run here, fail, hang and are killed. The nodes are those of
// "cluster serve --real-nodes", so it needs Linux and root.
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

// cluster is the control plane of this test run with its nodes, set once before
// the tests.
var cluster controlPlane

// record says that what the kubelets write is to be kept, for the tests of
// pkg/inspect/status.
var record = flag.String("record", "", "keep what the kubelets write of each row of TestTruths in this `directory`")

// deadline is how long a test waits for what should take a moment. It is there
// for machines that are busy; no test says how fast anything is.
const deadline = 3 * time.Minute

// The nodes. Tests that take one away take the last.
const (
	steadyNode = "real-0"
	shakyNode  = "real-1"
)

// controllerImage is the name of the image that "make image" makes.
const controllerImage = "ghcr.io/imoocpod/kubectl-imoocpod:test"

// controlPlane is what "cluster serve" says of the control plane that it runs.
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
	// They wait more than they work, but each start of a container is work, too.
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
		return 1, fmt.Errorf("make a directory for the test run: %w", err)
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

// start starts a control plane with nodes, which lives as long as the pipe to its
// standard input, and so ends with this process, however that ends.
func (c *controlPlane) start(image string) (stop func() error, err error) {
	serve := exec.Command(c.launcher, "serve", "--nodes=0", "--real-nodes=2", "--image="+controllerImage+"="+image,
		// A node that is silent is to be noticed within a test.
		"--arg=kube-controller-manager:--node-monitor-grace-period=20s",
		// A node that pulls one image in a second, for the moment of a refusal.
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
		return nil, errors.Join(fmt.Errorf("read what the control plane said (%q): %w", line, err), stop())
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
		return fmt.Errorf("make a client: %w", err)
	}
	if c.core, err = corev1client.NewForConfig(config); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	if r := command("", "imoocpod", "install"); r.code != 0 {
		return fmt.Errorf("install: %s", r)
	}
	return nil
}

// tell has the launcher do something, such as "kill real-1".
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

// result is what a command line came to.
type result struct {
	line           string
	stdout, stderr string
	code           int
}

func (r result) String() string {
	return fmt.Sprintf("%s: exit code %d\nstdout: %s\nstderr: %s", r.line, r.code, r.stdout, r.stderr)
}

// command runs a real kubectl, which finds the plugin on PATH. It reads what is
// given.
func command(stdin string, args ...string) result {
	return execute(cluster.Bin+"/kubectl", stdin, args...)
}

// execute runs a program. It has more time than what it may be told to wait.
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

// kubectl is command for one that must succeed.
func kubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	r := command(stdin, args...)
	if r.code != 0 {
		t.Fatal(r)
	}
	return r.stdout
}

// loop is a run-controller of the plugin under test.
type loop struct {
	cmd    *exec.Cmd
	output *os.File
	done   chan struct{}
}

// startLoop starts a run-controller, which is stopped when the test ends.
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
			t.Logf("the loop said (%v):\n%s", err, said)
		}
		output.Close()
	})
	return l
}

// end ends the loop with a signal, and waits until it is gone.
func (l *loop) end(signal os.Signal) {
	_ = l.cmd.Process.Signal(signal) // it may have ended already
	<-l.done
}
