package harness

import (
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"testing"
)

// seed is the seed for the random draws of a run. The chaos tests use and print their own seeds.
var seed uint64 //nolint:gochecknoglobals // a flag of the test program, set once

// Draw returns a number below n that depends only on the seed and the name of the test, so that a
// test draws the same number when it runs alone.
func Draw(t *testing.T, n int) int {
	t.Helper()
	h := fnv.New64a()
	_, _ = h.Write([]byte(t.Name()))
	return rand.New(rand.NewPCG(seed, h.Sum64())).IntN(n)
}

// Main runs the tests of a package and returns the exit code. It starts a control plane or, with
// -running, uses one that is running. It calls use with the control plane before it runs the tests.
func Main(m *testing.M, root string, use func(*Cluster), args ...string) (code int) {
	// "make nightly" sets this flag.
	everywhere := flag.Bool("race-everywhere", false, "with -race, detect races in every process of the plugin, not only in some that go on until they are stopped")
	flag.Uint64Var(&seed, "draws", 0, "repeat the random draws of the run with this seed")
	running := flag.Bool("running", false, "use the control plane that \"make cluster-up\" has started")
	flag.Parse()
	if seed == 0 {
		seed = rand.Uint64()
	}
	fmt.Printf("repeat the random draws of this run with -draws %d\n", seed)
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
