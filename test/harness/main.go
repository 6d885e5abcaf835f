package harness

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
)

// Main runs the tests of a package and returns the exit code. It starts a control plane or, with
// -running, uses one that is running. It calls use with the control plane before it runs the tests.
func Main(m *testing.M, root string, use func(*Cluster)) (code int) {
	// "make nightly" sets this flag. The race detector needs four times the CPU time.
	race := flag.Bool("race-everywhere", false, "detect races in the processes of the plugin, too")
	running := flag.Bool("running", false, "use the control plane that \"make cluster-up\" has started")
	flag.Parse()
	start := func() (*Cluster, func() error, error) { return Start(root, *race) }
	if *running {
		start = func() (*Cluster, func() error, error) { return Use(root) }
	}
	c, stop, err := start()
	if err == nil {
		use(c)
		code = m.Run()
		err = errors.Join(err, stop())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the control plane of the tests:", err)
		code = 1
	}
	return code
}
