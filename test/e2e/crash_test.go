package e2e

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// long selects the thorough variants of some tests. "make chaos" sets it.
var long = flag.Bool("long", false, "run a longer scenario at every crash point, and let every write and request go wrong in every way")

// If any write of a scenario fails in any way, a new controller reaches exactly the requested
// state, and never creates an extra pod.
func TestEveryCrashPoint(t *testing.T) {
	t.Parallel()
	steps := []int32{5, 2, 3, 0}
	if *long {
		steps = []int32{20, 7, 12, 0}
	}
	everyCrashPoint(t, 2*int64(len(steps)), func(t *testing.T, k int64, way string) int64 {
		ns := cluster.NewNamespace(t)
		w := cluster.WatchPods(t, ns)
		d := cluster.NewDriver(t, ns, w)
		d.Create(0)
		writes := startCrashing(t, ns, d, k, way, d.Check())
		for _, n := range steps {
			d.Scale(n)
			w.AwaitConverged(t, "foo", n)
		}
		d.Close()
		if most, limit := w.MostLive(d.UID), int(slices.Max(steps)); most > limit {
			t.Errorf("%d live pods at once for %d slots", most, limit)
		}
		return writes.Load()
	})
}

// everyCrashPoint runs a story without a failure, and checks that it needs at least the given number
// of writes. Then it repeats the story with one failing write each time. With -long, each write fails
// in each way. Otherwise, every third write from a random start fails in one way. A story makes its
// k-th write fail in the given way, and returns the number of its writes.
func everyCrashPoint(t *testing.T, least int64, story func(t *testing.T, k int64, way string) int64) {
	t.Helper()
	total := story(t, 0, "")
	if total < least {
		t.Fatalf("the story took only %d writes", total)
	}
	ways := []string{crashBeforeWrite, crashAfterWrite, replyLost}
	drawn := harness.Draw(t, 3*len(ways))
	// A run with a crash can need more writes than a run without a crash.
	for k := 1; k <= int(total)+3; k++ {
		for i, way := range ways {
			if !*long && (k%3 != drawn%3 || (k/3+drawn/3)%len(ways) != i) {
				continue
			}
			t.Run(fmt.Sprintf("%s-%d", way, k), func(t *testing.T) {
				t.Parallel()
				story(t, int64(k), way)
			})
		}
	}
}

// startCrashing starts a controller whose k-th write fails in the given way. If this kills the
// controller, startCrashing starts a new one. It returns the counter of all writes.
func startCrashing(t *testing.T, namespace string, d *harness.Driver, k int64, way string, interceptors ...harness.Interceptor) *atomic.Int64 {
	t.Helper()
	writes := &atomic.Int64{}
	var start func()
	start = func() {
		started := make(chan *harness.Controller, 1) // the controller may write before StartController returns
		started <- cluster.StartController(t, controller.Options{Namespace: namespace, Kinds: []kinds.Kind{kinds.ImoocPod()}}, append(slices.Clone(interceptors), crashAt(k, way, writes, func() {
			(<-started).Kill()
			d.Go(start)
		}))...)
	}
	start()
	return writes
}

var errCrashed = errors.New("the loop crashed")

// Ways in which crashAt makes a write fail.
const (
	crashBeforeWrite = "before" // the controller dies before the request is sent
	crashAfterWrite  = "after"  // the controller dies after the response
	replyLost        = "lost"   // the server applies the write, but the connection breaks before the response
)

// crashAt returns an interceptor that counts writes and makes the k-th write fail in the given way.
// If the controller must die, it calls crash.
func crashAt(k int64, way string, writes *atomic.Int64, crash func()) harness.Interceptor {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !harness.IsWrite(r) || writes.Add(1) != k {
			return next.RoundTrip(r)
		}
		switch way {
		case crashBeforeWrite:
			crash()
			return nil, errCrashed
		case crashAfterWrite:
			resp, err := next.RoundTrip(r)
			crash()
			return resp, err
		default:
			return harness.LoseReply(next.RoundTrip(r))
		}
	}
}
