// Package terminal draws on a terminal: a screen that follows changes, and the
// progress of a wait.
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

// framePause is how long two frames are apart: whatever happens in a cluster,
// nobody reads faster.
const framePause = 250 * time.Millisecond

// Screen shows a screen on a terminal, from the first object that there is to show,
// and draws it over again when something has changed, at least once a second. It
// uses the terminal's second screen and lets it echo nothing, so that a resize or
// a key that is pressed does not leave traces; the first screen stays as it was,
// and in the end the last frame is written below.
type Screen struct {
	terminal *os.File
	style    printer.Style

	mu     sync.Mutex
	screen printer.Screen
	drawn  frameKey
	fresh  bool
	// stop ends the drawing, and stopped says that it has ended; nil, it has not
	// begun.
	stop, stopped chan struct{}
	over          bool
	ending        sync.Once
	// restoreEcho lets the terminal echo again what is typed.
	restoreEcho func()
}

// frameKey is what a frame depends on beside the objects.
type frameKey struct {
	width, height int
	second        int64
}

// Of is the terminal that out is, if a screen can be drawn on it.
func Of(out io.Writer) (*os.File, bool) {
	file, _ := out.(*os.File)
	return file, Is(out) && os.Getenv("TERM") != "dumb"
}

// NewScreen makes a screen for a terminal. It must be ended. When the context ends
// it ends at once, whatever is under way still: with a second Ctrl-C nothing waits
// for that.
func NewScreen(ctx context.Context, terminal *os.File, style printer.Style, screen printer.Screen) *Screen {
	l := &Screen{terminal: terminal, style: style, screen: screen}
	context.AfterFunc(ctx, l.End)
	return l
}

// markDirty has the screen drawn again.
func (l *Screen) markDirty() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fresh = true
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
				l.markDirty()
			case <-l.stop:
				return
			}
		}
	}()
}

// enter turns to the second screen.
func (l *Screen) enter() {
	l.restoreEcho = disableEcho(l.terminal)
	l.write(ansi.SetModeAltScreenSaveCursor + ansi.HideCursor + ansi.ResetModeAutoWrap)
}

// leave gives the terminal back as it was.
func (l *Screen) leave() {
	l.write(ansi.SetModeAutoWrap + ansi.ShowCursor + ansi.ResetModeAltScreenSaveCursor)
	l.restoreEcho()
}

// Show takes in an object as it is now. One that is gone is shown only if it was
// there.
func (l *Screen) Show(r status.Report) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.screen.See(r, time.Now()) {
		return
	}
	l.fresh = true
	if l.stop == nil && !l.over {
		l.begin()
	}
}

// Forget takes an object off the screen.
func (l *Screen) Forget(r status.Report) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fresh = true
	l.screen.Forget(r)
}

// SetLost says since when there is no connection to the server; zero, there is one.
func (l *Screen) SetLost(since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fresh = l.fresh || l.screen.Lost != since
	l.screen.Lost = since
}

// draw puts the screen on the terminal, if anything about it has changed. It
// overwrites what is there and clears nothing that it does not write.
func (l *Screen) draw(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := frameKey{second: now.Unix()}
	key.width, key.height = Size(l.terminal)
	if key == l.drawn && !l.fresh {
		return
	}
	l.drawn, l.fresh = key, false
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

// write shows what it can: whoever took the terminal away does not look.
func (l *Screen) write(text string) { _, _ = io.WriteString(l.terminal, text) }

// Size is the number of columns and rows of a terminal, or what is usual
// where it does not tell.
func Size(terminal *os.File) (width, height int) {
	size, err := term.GetWinsize(terminal.Fd())
	if err != nil || size.Width == 0 || size.Height == 0 {
		return 80, 24
	}
	return int(size.Width), int(size.Height)
}

// Is reports whether somebody may be looking.
func Is(out io.Writer) bool {
	file, is := out.(*os.File)
	return is && term.IsTerminal(file.Fd())
}
