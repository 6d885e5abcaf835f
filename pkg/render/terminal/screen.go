// Package terminal draws a screen of objects and the progress of a wait on a terminal.
package terminal

import (
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/moby/term"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
)

const framePause = 250 * time.Millisecond

// Screen shows objects on a terminal. It redraws after each change and every second. It uses the alternate screen
// without echo, so that resizing and typing leave no traces. At the end, it writes the last frame to the normal screen.
type Screen struct {
	terminal *os.File
	style    printer.Style

	mu     sync.Mutex
	screen printer.Screen
	// drawn is the key of the last frame; the zero key forces a redraw.
	drawn frameKey
	// begin starts the goroutine in drawing, and end closes ended, which ends the goroutine.
	begin       sync.Once
	drawing     sync.WaitGroup
	ended       <-chan struct{}
	end         context.CancelFunc
	restoreEcho func()
}

// frameKey contains the values that determine a frame, except the objects and the connection.
type frameKey struct {
	width, height int
	second        int64
}

// Of returns out as a file, or nil if out is not a terminal on which a screen can be drawn.
func Of(out io.Writer) *os.File {
	file, is := out.(*os.File)
	if !is || !Is(file) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return file
}

// NewScreen returns a screen for a terminal. The caller must call End. Canceling ctx also ends the
// screen, because the program does not call End after a second Ctrl-C.
func NewScreen(ctx context.Context, terminal *os.File, style printer.Style, screen printer.Screen) *Screen {
	ctx, end := context.WithCancel(ctx)
	return &Screen{terminal: terminal, style: style, screen: screen, ended: ctx.Done(), end: end}
}

// run draws the screen until ended is closed. It then leaves the last frame on the normal screen.
func (s *Screen) run() {
	suspended, stopSuspensions := suspensions()
	defer stopSuspensions()
	ticks := time.NewTicker(framePause)
	defer ticks.Stop()
	s.enter()
	for {
		s.draw(time.Now())
		select {
		case <-ticks.C:
		case <-suspended: // Ctrl-Z
			s.leave()
			suspend()
			s.enter()
			s.update(func() {})
		case <-s.ended:
			s.leave()
			width, _ := Size(s.terminal)
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, text := range s.screen.Frame(width, 0, s.style, time.Now()) {
				s.write(text + "\r\n")
			}
			return
		}
	}
}

// update calls change, and forces a redraw.
func (s *Screen) update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drawn = frameKey{}
	change()
}

func (s *Screen) enter() {
	s.restoreEcho = disableEcho(s.terminal)
	s.write(ansi.SetModeAltScreenSaveCursor + ansi.HideCursor + ansi.ResetModeAutoWrap)
}

func (s *Screen) leave() {
	s.write(ansi.SetModeAutoWrap + ansi.ShowCursor + ansi.ResetModeAltScreenSaveCursor)
	s.restoreEcho()
}

// Show adds or updates an object. The first object starts the drawing. A deleted object is not added.
func (s *Screen) Show(r status.Report) {
	s.update(func() {
		s.screen.See(r, time.Now())
		if len(s.screen.Reports) > 0 {
			s.begin.Do(func() { s.drawing.Go(s.run) })
		}
	})
}

// Forget removes an object from the screen.
func (s *Screen) Forget(r status.Report) { s.update(func() { s.screen.Forget(r) }) }

// SetLost sets when the connection was lost. A zero time means that the connection is back.
func (s *Screen) SetLost(since time.Time) { s.update(func() { s.screen.Lost = since }) }

// draw draws the screen if the frame may have changed. To avoid flicker, it overwrites lines instead of clearing them.
func (s *Screen) draw(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := frameKey{second: now.Unix()}
	key.width, key.height = Size(s.terminal)
	if key == s.drawn {
		return
	}
	s.drawn = key
	var b strings.Builder
	b.WriteString(ansi.SetModeSynchronizedOutput + ansi.CursorHomePosition)
	lines := s.screen.Frame(key.width, key.height, s.style, now)
	for i, text := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(text)
		if ansi.StringWidth(text) < key.width { // on a full line, this would erase the last character
			b.WriteString(ansi.EraseLineRight)
		}
	}
	if len(lines) < key.height { // on a full screen, the line break would scroll
		b.WriteString("\r\n" + ansi.EraseScreenBelow)
	}
	b.WriteString(ansi.ResetModeSynchronizedOutput)
	s.write(b.String())
}

// End restores the terminal, and leaves the last frame on the normal screen.
func (s *Screen) End() {
	s.begin.Do(func() {}) // so that no later object starts the drawing
	s.end()
	s.drawing.Wait()
}

// write ignores errors, which mean that the terminal is gone.
func (s *Screen) write(text string) { _, _ = io.WriteString(s.terminal, text) }

// Size returns the size of a terminal in columns and rows, or 80 and 24 if the size is unknown.
func Size(terminal *os.File) (width, height int) {
	size, err := term.GetWinsize(terminal.Fd())
	if err != nil || size.Width == 0 || size.Height == 0 {
		return 80, 24
	}
	return int(size.Width), int(size.Height)
}

// Is reports whether out is a terminal.
func Is(out io.Writer) bool {
	file, is := out.(*os.File)
	return is && term.IsTerminal(file.Fd())
}
