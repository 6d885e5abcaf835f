// Package harness runs and observes the plugin in tests. It provides a control plane with clients, kubectl and the
// plugin as processes, an in-process controller, fault injection between the controller and the server, and a witness
// that watches the pods independently of the controller. It contains no fakes.
//
// A test run has one Cluster. Start starts a control plane for it. Use and Connect use a running control plane.
package harness

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Timeout limits each wait of a test. No test checks the speed, so Timeout can be long enough for busy machines.
const Timeout = 2 * time.Minute

// program is the name under which kubectl finds the plugin.
const program = "kubectl-imoocpod"

// Cluster is the control plane of a test run, and the plugin under test. "cluster serve" prints the
// fields that have a JSON name.
type Cluster struct {
	// Kubeconfig is the path of an admin kubeconfig.
	Kubeconfig string `json:"kubeconfig"`
	// Bin is the directory of kubectl. If it is empty, kubectl is found on PATH.
	Bin string `json:"bin"`
	// Dir is a directory for files such as kubectl's cache.
	Dir string `json:"dir"`
	// AuditLog is the path of the API server's audit log.
	AuditLog string `json:"auditLog"`
	// PluginDir contains the plugin under test, and is first on PATH.
	PluginDir string `json:"-"`
	// Launcher is the program that runs the control plane for Start.
	Launcher string `json:"-"`

	// Dynamic and Core are admin clients for the tests themselves. Config is their configuration.
	Config  *rest.Config               `json:"-"`
	Dynamic *dynamic.DynamicClient     `json:"-"`
	Core    *corev1client.CoreV1Client `json:"-"`

	// The launcher reads commands such as "stop etcd" from stdin, and prints its responses to stdout.
	stdin  io.Writer
	stdout *bufio.Reader

	audit auditLog

	installing sync.Mutex
	// run distinguishes the namespaces of this test run from the namespaces of other runs.
	run        string
	namespaces atomic.Int32
}

// Start builds the plugin and the launcher, and starts a control plane. root is the repository's directory. args are
// arguments of "cluster serve". If race is set, the plugin uses the race detector. stop removes the control plane.
func Start(root string, race bool, args ...string) (c *Cluster, stop func() error, err error) {
	scratch, err := os.MkdirTemp("", "imoocpod-test-")
	if err != nil {
		return nil, nil, fmt.Errorf("create a directory for the test run: %w", err)
	}
	remove := func() error { return os.RemoveAll(scratch) }
	c = &Cluster{PluginDir: filepath.Join(scratch, "plugin"), Launcher: filepath.Join(scratch, "cluster")}
	end, err := c.start(root, race, args)
	if err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	stop = func() error { return errors.Join(end(), remove()) }
	if err := c.Connect(); err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return c, stop, nil
}

// start starts the control plane, and builds the plugin at the same time.
func (c *Cluster) start(root string, race bool, args []string) (stop func() error, err error) {
	built := make(chan error, 1)
	go func() { built <- c.buildPlugin(root, race) }()
	if err = buildLauncher(root, c.Launcher); err == nil {
		stop, err = c.serve(c.Launcher, args)
	}
	if err = errors.Join(err, <-built); err != nil && stop != nil {
		err = errors.Join(err, stop())
	}
	return stop, err
}

// auditLogVariable is the environment variable, set by "cluster up", with the path of the audit log.
const auditLogVariable = "IMOOCPOD_CLUSTER_AUDIT_LOG"

// Use builds the plugin from root, and connects to the control plane that "cluster up" started. stop does not remove
// the control plane or the namespaces of the tests. Tests cannot call Tell, for example to stop etcd.
func Use(root string) (c *Cluster, stop func() error, err error) {
	c = &Cluster{Kubeconfig: os.Getenv("KUBECONFIG"), AuditLog: os.Getenv(auditLogVariable), run: fmt.Sprint(os.Getpid(), "-")}
	if c.AuditLog == "" {
		return nil, nil, errors.New("no control plane: set the environment with eval \"$(make cluster-up)\"")
	}
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		return nil, nil, fmt.Errorf("find the kubectl of the control plane: %w", err)
	}
	if c.Dir, err = os.MkdirTemp("", "imoocpod-test-"); err != nil {
		return nil, nil, fmt.Errorf("create a directory for the test run: %w", err)
	}
	c.Bin, c.PluginDir = filepath.Dir(kubectl), filepath.Join(c.Dir, "plugin")
	stop = func() error { return os.RemoveAll(c.Dir) }
	if err := errors.Join(c.buildPlugin(root, false), c.Connect()); err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return c, stop, nil
}

// serve starts a control plane that runs until its standard input is closed, so that it ends with this process.
func (c *Cluster) serve(launcher string, args []string) (stop func() error, err error) {
	serve := exec.Command(launcher, append([]string{"serve"}, args...)...)
	serve.Stderr = os.Stderr
	// The test control plane is small and busy. By default, the API server would use an eighth of
	// its CPU time for garbage collection.
	serve.Env = append(os.Environ(), "GOGC=400")
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
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("wait for the control plane: %w", errors.Join(err, stop()))
	}
	if err := json.Unmarshal(line, c); err != nil {
		return nil, fmt.Errorf("parse the first line from the control plane (%q): %w", line, errors.Join(err, stop()))
	}
	return stop, nil
}

// Connect reads Kubeconfig, and creates clients for its running control plane.
func (c *Cluster) Connect() (err error) {
	if c.Config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig); err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	c.Config.QPS = -1
	c.Config.UserAgent = "e2e"
	if c.Dynamic, err = dynamic.NewForConfig(c.Config); err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	if c.Core, err = corev1client.NewForConfig(c.Config); err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	return nil
}

// Tell sends a command such as "stop etcd" to the control plane, which Start must have started.
func (c *Cluster) Tell(t *testing.T, command string) {
	t.Helper()
	if c.stdin == nil {
		t.Fatal("this test stops servers, so it needs its own control plane: run it without -running")
	}
	if _, err := fmt.Fprintln(c.stdin, command); err != nil {
		t.Fatal(err)
	}
	line, err := c.stdout.ReadString('\n')
	if err != nil || line != "ok\n" {
		t.Fatalf("command %q to the control plane: got response %q, error %v, want ok", command, line, err)
	}
}
