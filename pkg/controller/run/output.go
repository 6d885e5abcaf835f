package run

import (
	"io"
	"sync"
	"time"
)

const (
	// mostPending is how many bytes wait for a reader that does not read: some forty
	// thousand lines. A reader that reads has them long before.
	mostPending = 4 << 20
	// flushTimeout bounds how long a reader that does not read holds up the exit.
	flushTimeout = time.Second
)

// output writes in the background and in order, so that a loop never waits for
// whoever reads what it says. What does not fit any more is dropped, until the
// reader has caught up, and then it is told how many lines that were.
type output struct {
	to io.Writer
	// notice makes the line that tells how many were dropped.
	notice func(lines int) []byte
	done   chan struct{}

	mu      sync.Mutex
	changed sync.Cond
	pending []byte
	lost    int // lines that were dropped and not yet told
	dropped int // lines that ever were
	closed  bool
}

func newOutput(to io.Writer, notice func(lines int) []byte) *output {
	o := &output{to: to, notice: notice, done: make(chan struct{})}
	o.changed.L = &o.mu
	go func() {
		defer close(o.done)
		for some := o.next(); some != nil; some = o.next() {
			_, _ = o.to.Write(some) // a closed terminal must not stop the loop
		}
	}()
	return o
}

// Write takes a line, and never waits.
func (o *output) Write(line []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed:
	case o.lost > 0, len(o.pending) > 0 && len(o.pending)+len(line) > mostPending:
		o.lost++
		o.dropped++
	default:
		o.pending = append(o.pending, line...)
	}
	o.changed.Signal()
	return len(line), nil
}

// next waits for something to write; nil means that nothing will come.
func (o *output) next() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.pending) == 0 && o.lost == 0 && !o.closed {
		o.changed.Wait()
	}
	some := o.pending
	o.pending = nil
	if len(some) == 0 && o.lost > 0 {
		some = o.notice(o.lost)
		o.lost = 0
	}
	return some
}

// close writes what is left, as far as that is read in time.
func (o *output) close() {
	o.mu.Lock()
	o.closed = true
	o.changed.Signal()
	o.mu.Unlock()
	select {
	case <-o.done:
	case <-time.After(flushTimeout):
	}
}

// linesDropped counts the lines that were dropped.
func (o *output) linesDropped() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.dropped
}
