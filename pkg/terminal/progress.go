package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/imoocpod/kubectl-imoocpod/pkg/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/printer"
)

// Progress shows on a stream how far a wait has come: on a terminal a bar that
// is drawn over, elsewhere a line when something has changed, at most one a
// second.
type Progress struct {
	w io.Writer
	// terminal is what w is, if a bar can be drawn on it.
	terminal *os.File

	mu    sync.Mutex
	state printer.Progress
	timer *time.Timer
	over  bool
}

// NewProgress shows on w how far a wait has come. The goal completes "2 of 3 …".
func NewProgress(w io.Writer, goal string) *Progress {
	p := &Progress{w: w, state: printer.Progress{Goal: goal}}
	if terminal, is := Of(w); is {
		p.terminal = terminal
	}
	return p
}

// Show takes in an object as it was seen.
func (p *Progress) Show(s observe.Observation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.See(s.Report, s.Met, s.At)
	if p.terminal != nil {
		width, _ := Size(p.terminal)
		fmt.Fprint(p.w, "\r"+ansi.EraseLineRight+p.state.Bar(s.At, width)) //nolint:errcheck // it is no less done if it is not shown
		return
	}
	p.tell()
}

// tell prints the line that is due, or sees to it that it is printed when it is.
func (p *Progress) tell() {
	line, again := p.state.Line(time.Now())
	if line != "" {
		fmt.Fprintln(p.w, line) //nolint:errcheck // likewise
	}
	if again == 0 || p.timer != nil {
		return
	}
	p.timer = time.AfterFunc(again, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.timer = nil
		if !p.over {
			p.tell()
		}
	})
}

// End says that nothing more comes. The bar goes: what came of it is said by
// others.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	if p.terminal != nil {
		fmt.Fprint(p.w, "\r"+ansi.EraseLineRight) //nolint:errcheck // likewise
	}
}
