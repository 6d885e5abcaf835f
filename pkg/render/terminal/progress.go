package terminal

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
)

// Progress shows on a stream how far a wait has come: on a terminal some lines
// that are drawn over, elsewhere a line for each change of the reason, at most one
// in a few seconds, and a last one.
type Progress struct {
	w     io.Writer
	style printer.Style
	// terminal is what w is, if lines can be drawn over on it.
	terminal *os.File

	mu    sync.Mutex
	state printer.Progress
	seen  bool
	// drawn are the lines that stand on the terminal; the cursor is behind the last.
	drawn []string
	// width is that of the terminal when they were drawn.
	width int
	timer *time.Timer
	over  bool
}

// NewProgress shows on w how far a wait has come. The goal completes "2 of 3
// objects are …".
func NewProgress(w io.Writer, style printer.Style, goal string) *Progress {
	p := &Progress{w: w, style: style, state: printer.Progress{Goal: goal}}
	if terminal, is := Of(w); is {
		p.terminal = terminal
	}
	return p
}

// Show takes in an object as it was observed.
func (p *Progress) Show(s observe.Observation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = true
	p.state.See(s.Report, s.Met, s.GivesUp, s.At)
	p.tell()
}

// SetLost says since when there is no connection to the server; zero, there is one.
func (p *Progress) SetLost(since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal == nil && p.seen && p.state.Lost.IsZero() != since.IsZero() {
		p.println(printer.Connection(since))
	}
	p.state.Lost = since
	p.tell()
}

// Print calls write, which prints something above the progress.
func (p *Progress) Print(write func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	err := write()
	if p.seen && !p.over {
		p.tell()
	}
	return err
}

// End says that nothing more comes. What is drawn goes, and in its place comes how
// long the wait took if all is ready.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	if p.timer != nil {
		p.timer.Stop()
	}
	p.clear()
	if summary := p.state.Summary(time.Now()); summary != "" {
		p.println(summary)
	}
}

// tell shows what there is to show now, and again when more is due: the clock of
// a terminal ticks, and lines come no faster than people read.
func (p *Progress) tell() {
	if p.over || !p.seen {
		return
	}
	again := time.Second
	if p.terminal != nil {
		p.draw()
	} else {
		var line string
		if line, again = p.state.Line(time.Now()); line != "" {
			p.println(line)
		}
	}
	if again == 0 || p.timer != nil {
		return
	}
	p.timer = time.AfterFunc(min(again, framePause), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.timer = nil
		p.tell()
	})
}

// draw draws the lines over those that are there, if they are others.
func (p *Progress) draw() {
	width, _ := Size(p.terminal)
	lines := p.state.Frame(width, p.style, time.Now())
	if width == p.width && slices.Equal(lines, p.drawn) {
		return
	}
	p.write(p.erase() + strings.Join(lines, "\r\n"))
	p.drawn, p.width = lines, width
}

func (p *Progress) clear() {
	if p.terminal == nil || len(p.drawn) == 0 {
		return
	}
	p.write(p.erase())
	p.drawn = nil
}

// erase goes back to where the lines begin and clears all from there. It goes no
// further where a terminal has become narrower: some break lines then, others do
// not, and what stands above belongs to others.
func (p *Progress) erase() string {
	text := "\r"
	if len(p.drawn) > 1 {
		text += ansi.CursorUp(len(p.drawn) - 1)
	}
	return text + ansi.EraseScreenBelow
}

// println and write show what they can: it is no less done if nobody sees it.
func (p *Progress) println(line string) { p.write(line + "\n") }

func (p *Progress) write(text string) {
	fmt.Fprint(p.w, text) //nolint:errcheck // likewise
}
