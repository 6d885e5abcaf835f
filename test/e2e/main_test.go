// Package e2e drives the built plugin through a real kubectl against the
// control plane of test/cluster. Nothing in it is a fake.
package e2e

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// cluster is the control plane of this test run, set once before the tests.
var cluster *harness.Cluster

func TestMain(m *testing.M) {
	code, err := runWithCluster(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func runWithCluster(m *testing.M) (code int, err error) {
	c, stop, err := harness.Start("../..",
		"--kwok-config=testdata/kwok/as-annotated.yaml")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	cluster = c
	return m.Run(), nil
}
