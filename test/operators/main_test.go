// Package operators holds what the built plugin says about objects of other
// programs against what is true: real operators, built from their modules, run
// beside the control plane of test/cluster, and a watch of its own decides. What
// comes of it is the table in docs/any-resource.md.
package operators

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

var (
	write  = flag.Bool("write", false, "write the table into docs/any-resource.md, if all tests ran and passed")
	rounds = flag.Int("rounds", 10, "how often the end of each wait is measured")
)

// plane is the control plane of this test run, set once before the tests.
var plane struct {
	Kubeconfig string `json:"kubeconfig"`
	Bin        string `json:"bin"`
	Dir        string `json:"dir"`

	// scratch belongs to this test run; launcher is test/cluster, plugin the
	// directory of the plugin under test.
	scratch, launcher, plugin string

	config  *rest.Config
	dynamic *dynamic.DynamicClient
	core    *corev1client.CoreV1Client
}

// deadline is how long a test waits for what should take a moment.
const deadline = 3 * time.Minute

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "operators:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	scratch, err := os.MkdirTemp("", "imoocpod-operators-")
	if err != nil {
		return 1, fmt.Errorf("make a directory for the test run: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	plane.scratch, plane.launcher, plane.plugin = scratch, filepath.Join(scratch, "cluster"), filepath.Join(scratch, "plugin")
	for _, build := range []struct{ dir, output, pkg string }{
		{"../..", filepath.Join(plane.plugin, "kubectl-imoocpod"), "./cmd/kubectl-imoocpod"},
		{"../cluster", plane.launcher, "."},
	} {
		if out, err := exec.Command("go", "build", "-C", build.dir, "-o", build.output, build.pkg).CombinedOutput(); err != nil {
			return 1, fmt.Errorf("build %s: %w\n%s", build.pkg, err, out)
		}
	}
	stop, err := startControlPlane()
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := connect(); err != nil {
		return 1, err
	}
	code = m.Run()
	if code != 0 {
		return code, nil
	}
	return 0, finishTable()
}

// startControlPlane starts one that lives as long as the pipe to its standard
// input, so that it ends with this process, however that ends.
func startControlPlane() (stop func() error, err error) {
	serve := exec.Command(plane.launcher, "serve", "--kwok-config=testdata/slow-pods.yaml")
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
	stop = func() error { return errors.Join(stdin.Close(), serve.Wait()) }
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("wait for the control plane: %w", errors.Join(stop(), err))
	}
	if err := json.Unmarshal(line, &plane); err != nil {
		return nil, fmt.Errorf("read what the control plane said (%q): %w", line, errors.Join(stop(), err))
	}
	return stop, nil
}

func connect() (err error) {
	if plane.config, err = clientcmd.BuildConfigFromFlags("", plane.Kubeconfig); err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	plane.config.QPS = -1
	if plane.dynamic, err = dynamic.NewForConfig(plane.config); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	if plane.core, err = corev1client.NewForConfig(plane.config); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	return nil
}

func environment() []string {
	return append(os.Environ(),
		"KUBECONFIG="+plane.Kubeconfig,
		"KUBECACHEDIR="+plane.Dir+"/cache",
		"PATH="+strings.Join([]string{plane.plugin, plane.Bin, os.Getenv("PATH")}, string(os.PathListSeparator)))
}
