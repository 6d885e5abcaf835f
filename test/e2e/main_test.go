// Package e2e drives the built plugin through a real kubectl against the
// control plane of test/cluster. Nothing in it is a fake.
package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// controlPlane is what "cluster serve" says of the control plane that it runs.
type controlPlane struct {
	Kubeconfig string `json:"kubeconfig"`
	Bin        string `json:"bin"`
	Dir        string `json:"dir"`
	AuditLog   string `json:"auditLog"`

	// pluginDir holds the plugin under test; it comes first on PATH.
	pluginDir string
	// stdin takes commands such as "stop etcd", stdout answers them.
	stdin  io.Writer
	stdout *bufio.Reader

	config  *rest.Config
	dynamic *dynamic.DynamicClient
	core    *corev1client.CoreV1Client
}

// cluster is the control plane of this test run, set once before the tests.
var cluster controlPlane

// deadline is how long a test waits for what should take a moment. It is there
// for machines that are busy; no test says how fast anything is.
const deadline = 2 * time.Minute

func TestMain(m *testing.M) {
	code, err := runWithCluster(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func runWithCluster(m *testing.M) (code int, err error) {
	scratch, err := os.MkdirTemp("", "imoocpod-e2e-")
	if err != nil {
		return 1, fmt.Errorf("make a directory for the test run: %w", err)
	}
	defer func() { err = firstOf(err, os.RemoveAll(scratch)) }()
	plugin, launcher := filepath.Join(scratch, "plugin"), filepath.Join(scratch, "cluster")
	if err := goBuild("../..", filepath.Join(plugin, "kubectl-imoocpod"), "./cmd/kubectl-imoocpod", raceFlag...); err != nil {
		return 1, err
	}
	if err := goBuild("../cluster", launcher, "."); err != nil {
		return 1, err
	}
	stop, err := startControlPlane(launcher)
	if err != nil {
		return 1, err
	}
	defer func() { err = firstOf(err, stop()) }()
	cluster.pluginDir = plugin
	if err := cluster.connect(); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func goBuild(dir, output, pkg string, flags ...string) error {
	args := append([]string{"build", "-C", dir, "-o", output}, flags...)
	out, err := exec.Command("go", append(args, pkg)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// startControlPlane starts one that lives as long as the pipe to its standard
// input, so that it ends with this process, however that ends.
func startControlPlane(launcher string) (stop func() error, err error) {
	serve := exec.Command(launcher, "serve", "--kwok-config=testdata/kwok/image-cannot-be-pulled.yaml", "--kwok-config=testdata/kwok/as-annotated.yaml")
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
	cluster.stdin, cluster.stdout = stdin, bufio.NewReader(stdout)
	line, err := cluster.stdout.ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("wait for the control plane: %w", firstOf(stop(), err))
	}
	if err := json.Unmarshal(line, &cluster); err != nil {
		return nil, fmt.Errorf("read what the control plane said (%q): %w", line, firstOf(stop(), err))
	}
	return stop, nil
}

func (c *controlPlane) connect() (err error) {
	if c.config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig); err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	c.config.QPS = -1
	c.config.UserAgent = "e2e"
	if c.dynamic, err = dynamic.NewForConfig(c.config); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	if c.core, err = corev1client.NewForConfig(c.config); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	return nil
}
