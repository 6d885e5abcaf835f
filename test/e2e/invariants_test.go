package e2e

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	"go.uber.org/goleak"
	"k8s.io/utils/clock"
)

// explosive is a clock that panics on first use.
type explosive struct {
	clock.PassiveClock
	once atomic.Bool
}

func (e *explosive) Now() time.Time {
	if e.once.CompareAndSwap(false, true) {
		panic("boom")
	}
	return e.PassiveClock.Now()
}

// A panic while planning one object is reported on that object and does not stop the
// controller.
func TestPanicIsReported(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	d := cluster.NewDriver(t, ns, w)
	d.Create(2)
	cluster.StartController(t, ns, &explosive{PassiveClock: clock.RealClock{}}, d.Check())
	w.AwaitConverged(t, "foo", 2)
	harness.Eventually(t, "an event reports the panic", func() bool {
		return strings.Contains(cluster.Events(t, ns, d.UID), "Warning InternalError: internal error: boom")
	})
}

// When a controller is stopped, it completes the write under way, and leaks no goroutines.
// The test runs before the parallel tests, which would add goroutines.
func TestStopFinishesTheWriteUnderWay(t *testing.T) {
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	d := cluster.NewDriver(t, ns, w)
	before := goleak.IgnoreCurrent()
	begun, finish := make(chan struct{}), make(chan struct{})
	l := cluster.StartController(t, ns, nil, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pods") {
			close(begun)
			<-finish
		}
		return next.RoundTrip(r)
	})
	d.Create(1)
	<-begun
	l.Stop()
	select {
	case <-l.Done:
		t.Error("the loop ended while a write was under way")
	case <-time.After(time.Second):
	}
	close(finish)
	<-l.Done
	if l.Err != nil {
		t.Errorf("the loop ended with: %v", l.Err)
	}
	w.Until(t, "the pod exists", func() bool { return w.Created[d.UID] == 1 })
	goleak.VerifyNone(t, before,
		goleak.IgnoreAnyFunction("net/http.(*http2clientConnReadLoop).run"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*clientConnReadLoop).run"),
		goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*ClientConn).readLoop"))
}
