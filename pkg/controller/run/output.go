package run

import (
	"io"
	"sync"
	"time"
)

const (
	// mostPending is the maximum number of bytes to buffer for a slow reader, about 40,000 lines.
	mostPending = 4 << 20
	// flushTimeout limits how long a blocked reader delays the exit.
	flushTimeout = time.Second
)

// output writes lines in order and in the background, so that a loop never waits for a reader. If more than mostPending
// bytes would be pending, output drops lines until the reader catches up, and then reports the number of lost lines.
type output struct {
	to io.Writer
	// notice returns a line with the number of dropped lines.
	notice func(lines int) []byte
	done   chan struct{}

	mu      sync.Mutex
	changed sync.Cond
	pending []byte
	lost    int // dropped lines to report in the next notice
	closed  bool
}

func newOutput(to io.Writer, notice func(lines int) []byte) *output {
	o := &output{to: to, notice: notice, done: make(chan struct{})}
	o.changed.L = &o.mu
	go func() {
		defer close(o.done)
		for some := o.next(); some != nil; some = o.next() {
			_, _ = o.to.Write(some) // an error, such as from a closed terminal, must not stop the loop
		}
	}()
	return o
}

// Write adds a line, and never blocks.
func (o *output) Write(line []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed:
	case o.lost > 0, len(o.pending) > 0 && len(o.pending)+len(line) > mostPending:
		o.lost++
	default:
		o.pending = append(o.pending, line...)
	}
	o.changed.Signal()
	return len(line), nil
}

// next waits for output and returns it. After close, it returns the remaining output, and then nil.
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

// close waits until the remaining output is written, but no longer than flushTimeout.
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
