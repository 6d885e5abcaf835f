// Package e2e runs the built plugin through a real kubectl against the control plane of
// test/cluster. Only the kubelets are simulated.
package e2e

import (
	"os"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// cluster is the control plane of this test run.
var cluster *harness.Cluster

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, "../..", func(c *harness.Cluster) { cluster = c }))
}
