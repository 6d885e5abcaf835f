package e2e

import (
	"flag"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
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
	total := runScenario(t, "clean", steps, 0, "")
	if total < 2*int64(len(steps)) {
		t.Fatalf("the scenario %v took %d writes, which cannot be all", steps, total)
	}
	// A run after a crash may take more writes than the clean one.
	for k := int64(1); k <= total+3; k++ {
		for _, way := range []string{beforeWrite, afterWrite, replyLost} {
			t.Run(fmt.Sprintf("%s-%d", way, k), func(t *testing.T) {
				t.Parallel()
				runScenario(t, fmt.Sprintf("%s-%d", way, k), steps, k, way)
			})
		}
	}
}

// runScenario scales an object through the steps while the k-th write goes
// wrong, and returns how many writes there were.
func runScenario(t *testing.T, name string, steps []int32, k int64, way string) int64 {
	t.Helper()
	ns := newNamespace(t)
	w := watchPods(t, ns)
	var writes atomic.Int64
	d := newDriver(t, ns, w)
	var start func()
	start = func() {
		var l *innerLoop
		l = startInner(t, ns, nil, d.check(), crashAt(k, way, &writes, func() {
			l.kill()
			d.after(start)
		}))
	}
	d.create(0)
	start()
	for _, n := range steps {
		d.scale(n)
		w.settles(t, "foo", n)
	}
	d.close()
	if most, limit := w.mostLive(d.uid), int(slices.Max(steps)); most > limit {
		t.Errorf("%s: %d live pods at once for %d slots", name, most, limit)
	}
	return writes.Load()
}
