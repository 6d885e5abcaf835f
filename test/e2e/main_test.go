// Package e2e tests the plugin and its controller with a real kubectl and the control plane of test/cluster. Only the
// kubelets are simulated.
package e2e

import (
	"os"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

var cluster *harness.Cluster

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, "../..", func(c *harness.Cluster) { cluster = c }))
}
