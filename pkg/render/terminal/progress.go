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

// Progress shows how far a wait has come: on a terminal some lines that are drawn over,
// elsewhere a line for each change, at most one in a few seconds, and a last one. It leaves
// alone what the command has printed above, so a Screen cannot take its place.
type Progress struct {
	w     io.Writer
	style printer.Style
	// terminal is w, if lines can be drawn over on it.
	terminal *os.File

	mu    sync.Mutex
	state printer.Progress
	seen  bool
	// drawn are the lines on the terminal. The cursor is behind the last.
	drawn []string
	timer *time.Timer
	over  bool
}

// NewProgress makes a progress on w. The goal completes "2 of 3 objects are …".
func NewProgress(w io.Writer, style printer.Style, goal string) *Progress {
	p := &Progress{w: w, style: style, state: printer.Progress{Goal: goal}}
	if terminal, is := Of(w); is {
		p.terminal = terminal
	}
	return p
}

// Show shows an object as it was observed.
func (p *Progress) Show(s observe.Observation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = true
	p.state.See(s.Report, s.Met, s.GivesUp, s.At)
	p.tell()
}

// SetLost sets since when the connection to the server is lost; zero, there is one.
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

// End erases what is drawn. If all objects are ready, it prints how long the wait took.
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

// tell shows what is due, and does so again later: the clock on a terminal ticks, and lines come
// no faster than people read.
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

// draw draws the lines over those that are there, unless they are the same.
func (p *Progress) draw() {
	width, _ := Size(p.terminal)
	lines := p.state.Frame(width, p.style, time.Now())
	if !slices.Equal(lines, p.drawn) {
		p.write(p.erase() + strings.Join(lines, "\r\n"))
		p.drawn = lines
	}
}

func (p *Progress) clear() {
	if len(p.drawn) > 0 {
		p.write(p.erase())
		p.drawn = nil
	}
}

// erase goes back to where the lines begin, and clears the rest. If the terminal has become
// narrower, it may have broken lines; what is above belongs to others.
func (p *Progress) erase() string {
	text := "\r"
	if len(p.drawn) > 1 {
		text += ansi.CursorUp(len(p.drawn) - 1)
	}
	return text + ansi.EraseScreenBelow
}

// println and write drop errors: the wait does not depend on its display.
func (p *Progress) println(line string) { p.write(line + "\n") }

func (p *Progress) write(text string) {
	fmt.Fprint(p.w, text) //nolint:errcheck // likewise
}
