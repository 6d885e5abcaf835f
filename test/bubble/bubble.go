// Package bubble runs tests in bubbles of testing/synctest, where time passes at once.
package bubble

import (
	"runtime"
	"testing"
	"testing/synctest"
)

// Test is synctest.Test on one processor. With several, the race detector itself crashes
// now and then, as two of them may run timers of one bubble at the same time
// (https://go.dev/issue/78156). It finds races by what is ordered before what, so
// one processor hides none.
func Test(t *testing.T, f func(*testing.T)) {
	t.Helper()
	runtime.GOMAXPROCS(1)
	synctest.Test(t, f)
}
