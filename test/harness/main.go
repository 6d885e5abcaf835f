package harness

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
)

// Main runs the tests of a package, for which use takes the control plane, and returns
// the exit code. It starts and ends the control plane as Start does, unless -running says
// to use another.
func Main(m *testing.M, root string, use func(*Cluster), args ...string) (code int) {
	// It is what "make nightly" asks for.
	everywhere := flag.Bool("race-everywhere", false, "with -race, detect races in every process of the plugin, not only in some that go on until they are stopped")
	running := flag.Bool("running", false, "use the control plane that \"make cluster-up\" has started")
	flag.Parse()
	start := func() (*Cluster, func() error, error) { return Start(root, *everywhere, args...) }
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
