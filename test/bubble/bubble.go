// Package bubble runs tests in bubbles of testing/synctest, where waiting takes no time.
package bubble

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
)

// bubbles counts the bubbles that run, and keeps the number of processors to
// restore when the last of them ends.
type bubbles struct {
	mu         sync.Mutex
	running    int
	processors int
}

var all bubbles //nolint:gochecknoglobals // the number of processors is global, too

// Test calls synctest.Test on one processor. Several processors may run timers of one bubble
// at the same time (https://go.dev/issue/78156), which sometimes crashes the race detector
// or, without the detector, makes the bubble hang. The detector finds races by the order of
// events, so it still finds them on one processor.
func Test(t *testing.T, f func(*testing.T)) {
	t.Helper()
	all.enter()
	defer all.leave()
	synctest.Test(t, f)
}

func (b *bubbles) enter() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running++; b.running == 1 {
		b.processors = runtime.GOMAXPROCS(1)
	}
}

func (b *bubbles) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running--; b.running == 0 {
		runtime.GOMAXPROCS(b.processors)
	}
}
