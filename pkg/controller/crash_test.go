package controller

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// Ways in which a write of a loop fails.
const (
	crashBeforeWrite = "before" // the loop dies before it sends the request
	crashAfterWrite  = "after"  // the loop dies after the server has applied the write
	replyLost        = "lost"   // the server applies the write, but the response is lost
)

var errCrashed = errors.New("the loop crashed")

// every makes each write fail in every way. "make nightly" sets it. Otherwise, each write fails in one way.
var every = flag.Bool("every", false, "let each write of TestEveryCrashPoint fail in every way, and run all worlds instead of a sample")

// sampled returns how many worlds to draw for each world to run. With the race detector, a world takes five
// times as long, so "make unit" runs a sample with it, and all worlds without it.
func sampled() int {
	if raceDetector && !*every {
		return 4
	}
	return 1
}

// whileWriteFails runs a story with a loop whose k-th write fails in the given way. If the loop dies, a
// new loop starts. whileWriteFails returns the number of writes of all loops, without events.
func (w *world) whileWriteFails(k int64, way string, story func()) int64 {
	var writes atomic.Int64
	var restarts sync.WaitGroup
	var start func()
	start = func() {
		var dead atomic.Bool
		var stop func()
		die := func() {
			dead.Store(true)
			restarts.Go(func() {
				stop()
				start()
			})
		}
		w.transport = promhttp.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			switch {
			case dead.Load():
				return nil, errCrashed
			case r.Method == http.MethodGet || strings.Contains(r.URL.Path, "/events") || writes.Add(1) != k:
				return w.RoundTrip(r)
			case way == crashBeforeWrite:
				die()
				return nil, errCrashed
			}
			if _, err := w.RoundTrip(r); err != nil {
				return nil, err
			}
			if way == crashAfterWrite {
				die()
			}
			return nil, io.ErrUnexpectedEOF
		})
		w.start()
		stop = w.stop
	}
	start()
	story()
	restarts.Wait()
	return writes.Load()
}

// lag delays the watch events of resources by up to 100 ms each, until the returned function is called.
func (w *world) lag(resources ...string) (end func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			w.Stall(resources...)
			select {
			case <-time.After(100 * time.Millisecond):
				w.Stall()
				<-time.After(time.Millisecond) // until the events are sent
			case <-over:
				w.Stall()
				return
			}
		}
	}()
	return func() {
		close(over)
		<-ended
	}
}

// An object is scaled up and down, gives up a slot, and gets template B, then A, and B again during the
// rollout of A. If any single write fails in one of the three ways, the loop or its successor still
// reaches exactly the desired state, and no write violates an invariant.
func TestEveryCrashPoint(t *testing.T) {
	foo := kinds.ImoocPod()
	story := func(w *world) {
		count := func(n int64) {
			w.set(foo, "default", "foo", n, "spec", "replicas")
			w.converges()
		}
		image := func(name string) (hash string) {
			w.set(foo, "default", "foo", template(name), "spec", "template")
			return kinds.TemplateHash(foo, w.Get(foo.Resource.Resource, "default", "foo"))
		}
		count(5)
		count(1)
		count(3)
		w.change(foo, "default", "foo", func(obj *unstructured.Unstructured) {
			setRemoved(obj, "1")
			set(obj, int64(2), "spec", "replicas")
		})
		w.converges()
		b := image("b")
		w.converges()
		before := len(w.Requests(createsPod))
		a := image("a")
		w.until(func() string {
			if len(w.Requests(createsPod)) == before {
				return "no pod was created from template A"
			}
			return ""
		})
		image("b")
		w.converges()
		w.until(func() string {
			owner := w.Get(foo.Resource.Resource, "default", "foo")
			if hashes, _ := w.history(owner); !slices.Equal(hashes, []string{a, b}) {
				return fmt.Sprintf("the history has the template hashes %v, want %s and %s", hashes, a, b)
			}
			return ""
		})
		count(0)
	}
	attempt := func(t *testing.T, k int64, way string) (writes int64) {
		inWorld(t, imoocPods(), func(w *world) {
			defer w.lag("imoocpods", "pods", "controllerrevisions")()
			w.create(foo, "default", "foo", spec(int64(0), template("a")))
			writes = w.whileWriteFails(k, way, func() { story(w) })
		})
		return writes
	}
	total := attempt(t, 0, "")
	if total < 30 {
		t.Fatalf("the story without failures took only %d writes, want at least 30", total)
	}
	// A run with a crash may need more writes than a run without a crash.
	ways := []string{crashBeforeWrite, crashAfterWrite, replyLost}
	first := rand.IntN(len(ways)) // to repeat the fault of a subtest, run the subtest with -every
	for k := rand.Int64N(int64(sampled())); k < total+3; k += int64(sampled()) {
		for i, way := range ways {
			if *every || (int(k)+first)%len(ways) == i {
				t.Run(fmt.Sprintf("%s-%d", way, k+1), func(t *testing.T) { attempt(t, k+1, way) })
			}
		}
	}
}
