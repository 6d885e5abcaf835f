package e2e

import (
	"flag"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// long asks for the long scenario, as "make chaos" does.
var long = flag.Bool("long", false, "run the long scenario at every crash point")

// The ways in which a write can go wrong at the moment of a crash.
const (
	beforeWrite = "before" // the loop dies before it is sent
	afterWrite  = "after"  // the loop dies when it has been answered
	replyLost   = "lost"   // the server did it, the loop sees a broken connection
)

// crashAt makes an interceptor that lets the k-th write go wrong, and calls
// crash for the two ways in which the loop dies of it.
func crashAt(k int64, way string, writes *atomic.Int64, crash func()) interceptor {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !isWrite(r) || writes.Add(1) != k {
			return next.RoundTrip(r)
		}
		switch way {
		case beforeWrite:
			crash()
			return nil, errKilled
		case afterWrite:
			resp, err := next.RoundTrip(r)
			crash()
			return resp, err
		default:
			return lose(next.RoundTrip(r))
		}
	}
}

// For every write k of a scenario and every way in which it can go wrong, a new
// loop ends with exactly what was asked for, and there is never a pod too many.
func TestEveryCrashPoint(t *testing.T) {
	t.Parallel()
	steps := []int32{5, 2, 3, 0}
	if *long {
		steps = []int32{20, 7, 12, 0}
	}
	everyCrashPoint(t, 2*int64(len(steps)), func(t *testing.T, k int64, way string) int64 {
		ns := newNamespace(t)
		w := watchPods(t, ns)
		d := newDriver(t, ns, w)
		d.create(0)
		writes := startCrashing(d, kinds.ImoocPod(), k, way, d.check())
		for _, n := range steps {
			d.scale(n)
			w.settles(t, "foo", n)
		}
		d.close()
		if most, limit := w.mostLive(d.uid), int(slices.Max(steps)); most > limit {
			t.Errorf("%d live pods at once for %d slots", most, limit)
		}
		return writes.Load()
	})
}

// everyCrashPoint tells a story once as it should be, which takes least writes or
// more, and then with each of its writes going wrong in each way. A story returns
// how many writes there were.
func everyCrashPoint(t *testing.T, least int64, story func(t *testing.T, k int64, way string) int64) {
	t.Helper()
	total := story(t, 0, "")
	if total < least {
		t.Fatalf("the story took %d writes, which cannot be all", total)
	}
	// A run after a crash may take more writes than the clean one.
	for k := int64(1); k <= total+3; k++ {
		for _, way := range []string{beforeWrite, afterWrite, replyLost} {
			t.Run(fmt.Sprintf("%s-%d", way, k), func(t *testing.T) {
				t.Parallel()
				story(t, k, way)
			})
		}
	}
}

// startCrashing starts a loop whose k-th write goes wrong, and a new one when it
// dies of it. It returns the count of the writes of both.
func startCrashing(d *driver, kind kinds.Kind, k int64, way string, interceptors ...interceptor) *atomic.Int64 {
	d.t.Helper()
	writes := &atomic.Int64{}
	var start func()
	start = func() {
		var l *innerLoop
		l = startInnerFor(d.t, d.namespace, []kinds.Kind{kind}, nil, append(slices.Clone(interceptors), crashAt(k, way, writes, func() {
			l.kill()
			d.after(start)
		}))...)
	}
	start()
	return writes
}
