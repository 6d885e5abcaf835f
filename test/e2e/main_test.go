// Package e2e drives the built plugin through a real kubectl against the
// control plane of test/cluster. Nothing in it is a fake.
package e2e

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// cluster is the control plane of this test run, set once before the tests.
var cluster *harness.Cluster

// raceEverywhere is what "make nightly" asks for.
var raceEverywhere = flag.Bool("race-everywhere", false, "with -race, detect races in every process of the plugin, not only in those that go on until they are stopped")

func TestMain(m *testing.M) {
	code, err := runWithCluster(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func runWithCluster(m *testing.M) (code int, err error) {
	flag.Parse()
	c, stop, err := harness.Start("../..", *raceEverywhere,
		"--kwok-config=testdata/kwok/as-annotated.yaml")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	cluster = c
	return m.Run(), nil
}
