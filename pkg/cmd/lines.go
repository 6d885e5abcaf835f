package cmd

import (
	"fmt"
	"io"
	"sync"
)

// lines takes whole lines from several goroutines.
type lines struct {
	mu sync.Mutex
	to io.Writer
}

// Write writes one or more lines.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(p)
}

func (l *lines) say(format string, args ...any) {
	fmt.Fprintf(l, format+"\n", args...) //nolint:errcheck // a closed terminal must not stop the loop
}
