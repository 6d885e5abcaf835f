// Package clusterwide tests changes to resources shared by all namespaces: the CRDs, the
// nodes, the controller's namespace, and the servers themselves. Its tests run
// sequentially, on a control plane other than the one of package e2e.
package clusterwide

import (
	"os"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// cluster is the control plane of this test run.
var cluster *harness.Cluster

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, "../../..", func(c *harness.Cluster) { cluster = c }, "--kwok-config=../testdata/kwok/as-annotated.yaml"))
}
