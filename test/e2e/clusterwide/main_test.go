// Package clusterwide tests changes to resources that all namespaces share: the CRDs, the
// controller's namespace, and the servers. The tests run sequentially, on a different control plane
// than the tests of package e2e.
package clusterwide

import (
	"os"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

var cluster *harness.Cluster

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, "../../..", func(c *harness.Cluster) { cluster = c }))
}
