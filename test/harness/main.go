package harness

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
)

// Main runs the tests of a package, for which use takes the control plane, and returns
// the exit code. It starts and ends the control plane as Start does.
func Main(m *testing.M, root string, use func(*Cluster), args ...string) (code int) {
	// It is what "make nightly" asks for.
	everywhere := flag.Bool("race-everywhere", false, "with -race, detect races in every process of the plugin, not only in those that go on until they are stopped")
	flag.Parse()
	c, stop, err := Start(root, *everywhere, args...)
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
