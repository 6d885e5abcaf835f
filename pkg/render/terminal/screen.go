// Package terminal draws on a terminal: a screen of objects, and the progress of a wait.
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

// framePause is the time between two frames. Nobody reads faster.
const framePause = 250 * time.Millisecond

// Screen shows objects on a terminal, from the first one on, and draws them again when
// something has changed, at least once a second. It uses the alternate screen and turns off the
// echo, so that neither a resize nor a key leaves traces. In the end, it writes the last frame
// on the normal screen.
type Screen struct {
	terminal *os.File
	style    printer.Style

	mu     sync.Mutex
	screen printer.Screen
	// drawn is what was drawn last; zero, it must be drawn again.
	drawn frameKey
	// stop ends the drawing, and stopped is closed when it has ended; nil, it has not begun.
	stop, stopped chan struct{}
	over          bool
	ending        sync.Once
	// restoreEcho turns the echo on again.
	restoreEcho func()
}

// frameKey is what a frame depends on, except the objects.
type frameKey struct {
	width, height int
	second        int64
}

// Of returns the terminal that out is, if a screen can be drawn on it.
func Of(out io.Writer) (*os.File, bool) {
	file, _ := out.(*os.File)
	return file, Is(out) && os.Getenv("TERM") != "dumb"
}

// NewScreen makes a screen for a terminal. It must be ended. It ends at once when the context
// does: after a second Ctrl-C, nothing would end it.
func NewScreen(ctx context.Context, terminal *os.File, style printer.Style, screen printer.Screen) *Screen {
	l := &Screen{terminal: terminal, style: style, screen: screen}
	context.AfterFunc(ctx, l.End)
	return l
}

// begin takes the terminal and starts to draw.
func (l *Screen) begin() {
	l.stop, l.stopped = make(chan struct{}), make(chan struct{})
	suspended, stopSuspensions := suspensions()
	l.enter()
	go func() {
		defer close(l.stopped)
		defer stopSuspensions()
		ticks := time.NewTicker(framePause)
		defer ticks.Stop()
		for {
			l.draw(time.Now())
			select {
			case <-ticks.C:
			case <-suspended: // Ctrl-Z
				l.leave()
				suspend()
				l.enter()
				l.redraw()
			case <-l.stop:
				return
			}
		}
	}()
}

// redraw has the screen drawn again.
func (l *Screen) redraw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drawn = frameKey{}
}

// enter switches to the alternate screen.
func (l *Screen) enter() {
	l.restoreEcho = disableEcho(l.terminal)
	l.write(ansi.SetModeAltScreenSaveCursor + ansi.HideCursor + ansi.ResetModeAutoWrap)
}

// leave gives the terminal back as it was.
func (l *Screen) leave() {
	l.write(ansi.SetModeAutoWrap + ansi.ShowCursor + ansi.ResetModeAltScreenSaveCursor)
	l.restoreEcho()
}

// Show shows an object as it is now. One that is gone is shown only if it was there.
func (l *Screen) Show(r status.Report) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.screen.See(r, time.Now()) {
		return
	}
	l.drawn = frameKey{}
	if l.stop == nil && !l.over {
		l.begin()
	}
}

// Forget takes an object off the screen.
func (l *Screen) Forget(r status.Report) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drawn = frameKey{}
	l.screen.Forget(r)
}

// SetLost sets since when the connection to the server is lost; zero, there is one.
func (l *Screen) SetLost(since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drawn, l.screen.Lost = frameKey{}, since
}

// draw draws the screen, if it has changed. It overwrites line by line, and so does not flicker.
func (l *Screen) draw(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := frameKey{second: now.Unix()}
	key.width, key.height = Size(l.terminal)
	if key == l.drawn {
		return
	}
	l.drawn = key
	var b strings.Builder
	b.WriteString(ansi.SetModeSynchronizedOutput + ansi.CursorHomePosition)
	lines := l.screen.Frame(key.width, key.height, l.style, now)
	for i, text := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(text)
		if ansi.StringWidth(text) < key.width { // or the cursor still stands on the last column
			b.WriteString(ansi.EraseLineRight)
		}
	}
	if len(lines) < key.height { // otherwise, it would begin with the last character
		b.WriteString("\r\n" + ansi.EraseScreenBelow)
	}
	b.WriteString(ansi.ResetModeSynchronizedOutput)
	l.write(b.String())
}

// End gives the terminal back as it was, and leaves the last frame on it.
func (l *Screen) End() {
	l.ending.Do(func() {
		l.mu.Lock()
		l.over = true
		begun := l.stop != nil
		l.mu.Unlock()
		if !begun {
			return
		}
		close(l.stop)
		<-l.stopped
		l.leave()
		l.mu.Lock()
		defer l.mu.Unlock()
		width, _ := Size(l.terminal)
		for _, text := range l.screen.Frame(width, 0, l.style, time.Now()) {
			l.write(text + "\r\n")
		}
	})
}

// write drops errors: if the terminal is gone, nobody looks.
func (l *Screen) write(text string) { _, _ = io.WriteString(l.terminal, text) }

// Size returns the number of columns and rows of a terminal, or the usual ones if it is unknown.
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
