// Package bubble runs tests in testing/synctest bubbles, where waiting takes no time.
package bubble

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
)

// bubbles counts the running bubbles, and holds the number of processors to restore after the last bubble ends.
type bubbles struct {
	mu         sync.Mutex
	running    int
	processors int
}

var all bubbles //nolint:gochecknoglobals // the number of processors is global, too

// Test calls synctest.Test on one processor. With several processors, timers of one bubble may run
// at the same time (https://go.dev/issue/78156). This sometimes crashes the race detector or,
// without the detector, makes the bubble hang. The detector still finds races on one processor,
// because it checks for missing synchronization, not for simultaneous accesses.
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
