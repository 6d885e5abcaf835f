package terminal

import (
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

// Progress shows the progress of a wait. On a terminal, it redraws a few lines. Otherwise, it prints a line after
// a change, but at most one line every few seconds. Unlike Screen, it does not hide earlier output of the command.
type Progress struct {
	w     io.Writer
	style printer.Style
	// terminal is w if w is a terminal that can redraw lines. Otherwise, it is nil.
	terminal *os.File

	mu    sync.Mutex
	state printer.Progress
	seen  bool
	// drawn contains the lines on the terminal. The cursor is at the end of the last line.
	drawn []string
	timer *time.Timer
	over  bool
}

// NewProgress returns a Progress that writes to w. The goal completes the phrase "2 of 3 objects are …".
func NewProgress(w io.Writer, style printer.Style, goal string) *Progress {
	return &Progress{w: w, style: style, terminal: Of(w), state: printer.Progress{Goal: goal}}
}

// Show updates the state of an object and shows the progress.
func (p *Progress) Show(o observe.Observation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = true
	p.state.See(o.Report, o.Met, o.GivesUp, o.At)
	p.update()
}

// SetLost records and shows a lost connection. A zero time means that the connection is back.
func (p *Progress) SetLost(since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal == nil && p.seen && !p.over && p.state.Lost.IsZero() != since.IsZero() {
		p.write(printer.Connection(since) + "\n")
	}
	p.state.Lost = since
	p.update()
}

// Print erases the progress, calls write, and redraws the progress below the new output.
func (p *Progress) Print(write func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	err := write()
	p.update()
	return err
}

// End erases the progress. If a wait for ready or gone objects is complete, it prints a summary.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	if p.timer != nil {
		p.timer.Stop()
	}
	p.clear()
	if summary := p.state.Summary(time.Now()); summary != "" {
		p.write(summary + "\n")
	}
}

// update draws the progress. On a terminal, it schedules the next call, which updates the clock.
// Otherwise, it schedules a call only if a line is pending.
func (p *Progress) update() {
	if p.over || !p.seen {
		return
	}
	again := time.Second
	if p.terminal != nil {
		p.draw()
	} else {
		var line string
		if line, again = p.state.Line(time.Now()); line != "" {
			p.write(line + "\n")
		}
	}
	if again == 0 || p.timer != nil {
		return
	}
	p.timer = time.AfterFunc(min(again, framePause), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.timer = nil
		p.update()
	})
}

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

// erase returns the escape sequence that clears the terminal from the first drawn line to the bottom. If the
// terminal has become narrower, parts of wrapped lines may remain, but no earlier output is erased.
func (p *Progress) erase() string {
	text := "\r"
	if len(p.drawn) > 1 {
		text += ansi.CursorUp(len(p.drawn) - 1)
	}
	return text + ansi.EraseScreenBelow
}

// write ignores errors, because the wait does not depend on its display.
func (p *Progress) write(text string) { _, _ = io.WriteString(p.w, text) }
