// Package harness holds what tests drive the plugin with and watch it by: a
// control plane with clients, kubectl and the plugin as processes, a controller in
// the process of the test, faults between it and the server, and a witness that
// watches from outside what becomes of it all. Nothing in it is a fake.
//
// A test run has one Cluster, which Start starts, or for which Use and Connect use a
// control plane that runs already. Everything else is a method of it, or is given
// what it needs.
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

// Timeout is how long a test waits for what should take a moment. It is there
// for machines that are busy; no test says how fast anything is.
const Timeout = 2 * time.Minute

// program is the name of the plugin, by which kubectl finds it.
const program = "kubectl-imoocpod"

// Cluster is the control plane of a test run, and the plugin under test. The
// fields with a name in JSON are what "cluster serve" says.
type Cluster struct {
	// Kubeconfig is the file that leads to it, with all rights.
	Kubeconfig string `json:"kubeconfig"`
	// Bin holds kubectl; where it is empty, the one on PATH is used.
	Bin string `json:"bin"`
	// Dir is for what belongs to this control plane, such as kubectl's cache.
	Dir string `json:"dir"`
	// AuditLog is where the API server logs its requests.
	AuditLog string `json:"auditLog"`
	// PluginDir holds the plugin under test; it comes first on PATH.
	PluginDir string `json:"-"`
	// Launcher is the program that runs a control plane that Start started.
	Launcher string `json:"-"`
	// withRaceDetector returns the plugin that detects races, if the tests do, and builds
	// it when it is asked for the first time.
	withRaceDetector func() (program string, err error)

	// Config, Dynamic and Core are for the test itself, with all rights.
	Config  *rest.Config               `json:"-"`
	Dynamic *dynamic.DynamicClient     `json:"-"`
	Core    *corev1client.CoreV1Client `json:"-"`

	// stdin takes commands such as "stop etcd", stdout answers them.
	stdin  io.Writer
	stdout *bufio.Reader

	audit auditLog

	installing sync.Mutex
	// run tells the namespaces of this test run from those of others on the control plane.
	run        string
	namespaces atomic.Int32
}

// Start builds the plugin and the launcher from root, the directory of the
// repository, and starts a control plane with some more arguments of "cluster
// serve". It is gone after stop.
//
// Where the race detector is on in the tests, it is on in some of the processes of the plugin
// that go on until they are stopped, as the controller does, and in all if everywhere says so.
func Start(root string, everywhere bool, args ...string) (c *Cluster, stop func() error, err error) {
	scratch, err := os.MkdirTemp("", "imoocpod-test-")
	if err != nil {
		return nil, nil, fmt.Errorf("make a directory for the test run: %w", err)
	}
	remove := func() error { return os.RemoveAll(scratch) }
	c = &Cluster{PluginDir: filepath.Join(scratch, "plugin"), Launcher: filepath.Join(scratch, "cluster")}
	end, err := c.start(root, everywhere, args)
	if err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	stop = func() error { return errors.Join(end(), remove()) }
	if err := c.Connect(); err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return c, stop, nil
}

// start builds the plugin while the control plane starts.
func (c *Cluster) start(root string, everywhere bool, args []string) (stop func() error, err error) {
	plugin := filepath.Join(c.PluginDir, program)
	c.withRaceDetector = func() (string, error) { return plugin, nil }
	if raceDetector && !everywhere {
		c.withRaceDetector = sync.OnceValues(func() (string, error) {
			detecting := filepath.Join(filepath.Dir(c.Launcher), "race", program)
			return detecting, buildPlugin(root, detecting, true)
		})
	}
	built := make(chan error, 1)
	go func() { built <- buildPlugin(root, plugin, raceDetector && everywhere) }()
	if err = buildLauncher(root, c.Launcher); err == nil {
		stop, err = c.serve(c.Launcher, args)
	}
	if err = errors.Join(err, <-built); err != nil && stop != nil {
		err = errors.Join(err, stop())
	}
	return stop, err
}

// auditLogVariable names the environment variable by which "cluster up" says where the
// audit log is.
const auditLogVariable = "IMOOCPOD_CLUSTER_AUDIT_LOG"

// Use builds the plugin from root, and uses the control plane that "cluster up" has started
// and the environment leads to. It goes on after stop, and the namespaces of the tests stay
// in it. Its servers cannot be told to stop.
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
		return nil, nil, fmt.Errorf("make a directory for the test run: %w", err)
	}
	c.Bin, c.PluginDir = filepath.Dir(kubectl), filepath.Join(c.Dir, "plugin")
	stop = func() error { return os.RemoveAll(c.Dir) }
	plugin := filepath.Join(c.PluginDir, program)
	c.withRaceDetector = func() (string, error) { return plugin, nil }
	if err := errors.Join(buildPlugin(root, plugin, false), c.Connect()); err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return c, stop, nil
}

// serve starts a control plane that lives as long as the pipe to its standard
// input, so that it ends with this process, however that ends.
func (c *Cluster) serve(launcher string, args []string) (stop func() error, err error) {
	serve := exec.Command(launcher, append([]string{"serve"}, args...)...)
	serve.Stderr = os.Stderr
	// The control plane of tests is small and busy: the API server would spend an eighth of
	// its processor time on collecting garbage.
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
		return nil, fmt.Errorf("read what the control plane said (%q): %w", line, errors.Join(err, stop()))
	}
	return stop, nil
}

// Connect makes the clients of a control plane that runs already, to which
// Kubeconfig leads.
func (c *Cluster) Connect() (err error) {
	if c.Config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig); err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	c.Config.QPS = -1
	c.Config.UserAgent = "e2e"
	if c.Dynamic, err = dynamic.NewForConfig(c.Config); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	if c.Core, err = corev1client.NewForConfig(c.Config); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	return nil
}

// Tell gives a control plane that Start started a command, such as "stop etcd".
func (c *Cluster) Tell(t *testing.T, command string) {
	t.Helper()
	if c.stdin == nil {
		t.Fatal("the test stops servers: run it on a control plane of its own, without -running")
	}
	if _, err := fmt.Fprintln(c.stdin, command); err != nil {
		t.Fatal(err)
	}
	line, err := c.stdout.ReadString('\n')
	if err != nil || line != "ok\n" {
		t.Fatalf("the control plane answered %q to %q: %v", line, command, err)
	}
}
