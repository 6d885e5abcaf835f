// Package operators checks what the built plugin reports about third-party objects. Real operators, built from their
// modules, run on the control plane of test/cluster. An independent watch determines which reports are correct. The
// result is the table in docs/any-resource.md.
package operators

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

var write = flag.Bool("write", false, "write the table into docs/any-resource.md, if all tests ran and passed")

// plane is the control plane of this test run, set once before the tests.
var plane *harness.Cluster

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
	var stop func() error
	if plane, stop, err = harness.Start("../..", false, "--kwok-config=testdata/slow-pods.yaml"); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if code = m.Run(); code != 0 {
		return code, nil
	}
	if all := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == ""; !all {
		if *write {
			err = errors.New("only some tests ran, so no table is written")
		}
		return 0, err
	}
	return 0, finishTable()
}
