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
	p.update(func() {
		p.seen = true
		p.state.See(o.Report, o.Met, o.GivesUp, o.At)
	})
}

// SetLost records and shows a lost connection. A zero time means that the connection is back.
func (p *Progress) SetLost(since time.Time) {
	p.update(func() {
		if p.terminal == nil && p.seen && !p.over && p.state.Lost.IsZero() != since.IsZero() {
			p.write(printer.Connection(since) + "\n")
		}
		p.state.Lost = since
	})
}

// Print erases the progress, calls write, and redraws the progress below the new output.
func (p *Progress) Print(write func() error) (err error) {
	p.update(func() {
		p.draw(nil)
		err = write()
	})
	return err
}

// End erases the progress. If a wait for ready or gone objects is complete, it prints a summary.
func (p *Progress) End() {
	p.update(func() {
		p.over = true
		if p.timer != nil {
			p.timer.Stop()
		}
		p.draw(nil)
		if summary := p.state.Summary(time.Now()); summary != "" {
			p.write(summary + "\n")
		}
	})
}

// update calls change, and shows the progress. On a terminal, it schedules the next call, which updates the clock.
// Otherwise, it schedules a call only if a line is pending.
func (p *Progress) update(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	if p.over || !p.seen {
		return
	}
	again := time.Second
	if p.terminal != nil {
		width, _ := Size(p.terminal)
		p.draw(p.state.Frame(width, p.style, time.Now()))
	} else {
		var line string
		if line, again = p.state.Line(time.Now()); line != "" {
			p.write(line + "\n")
		}
	}
	if again == 0 || p.timer != nil {
		return
	}
	p.timer = time.AfterFunc(min(again, framePause), func() { p.update(func() { p.timer = nil }) })
}

// draw replaces the drawn lines, which it clears from the first one to the bottom of the terminal. If the terminal has
// become narrower, parts of wrapped lines may remain, but no earlier output is erased.
func (p *Progress) draw(lines []string) {
	if slices.Equal(lines, p.drawn) {
		return
	}
	start := "\r"
	if len(p.drawn) > 1 {
		start += ansi.CursorUp(len(p.drawn) - 1)
	}
	p.write(start + ansi.EraseScreenBelow + strings.Join(lines, "\r\n"))
	p.drawn = lines
}

// write ignores errors, because the wait does not depend on its display.
func (p *Progress) write(text string) { _, _ = io.WriteString(p.w, text) }
