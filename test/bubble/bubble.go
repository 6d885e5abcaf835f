// Package bubble runs tests in bubbles of testing/synctest, where time passes at once.
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

var all bubbles

// Test is synctest.Test, on one processor if the race detector is on. With
// several, the detector itself crashes now and then, because two processors may
// run timers of one bubble at the same time (https://go.dev/issue/78156). It
// finds races by the order of events, so one processor hides none.
func Test(t *testing.T, f func(*testing.T)) {
	t.Helper()
	if raceDetector {
		all.enter()
		defer all.leave()
	}
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
