// Package clusterwide tests what changes something that all namespaces share: the CRDs,
// the nodes, the namespace of the controller, and the servers themselves. Its tests run
// one after the other, on a control plane of their own beside that of package e2e.
package clusterwide

import (
	"os"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// cluster is the control plane of this test run, set once before the tests.
var cluster *harness.Cluster

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, "../../..", func(c *harness.Cluster) { cluster = c }, "--kwok-config=../testdata/kwok/as-annotated.yaml"))
}
