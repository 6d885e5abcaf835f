package cmd

import (
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"github.com/imoocpod/kubectl-imoocpod/pkg/printer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// framePause is how long two frames are apart: whatever happens in a cluster,
// nobody reads faster.
const framePause = 250 * time.Millisecond

// live shows a screen on a terminal and draws it over again when something has
// changed, at least once a second. It uses the terminal's second screen, so
// that a resize or a key that is pressed does not leave traces; the first one
// stays as it was, and in the end the last frame is written below.
type live struct {
	terminal *os.File
	style    printer.Style

	mu     sync.Mutex
	screen printer.Screen
	drawn  frameKey
	fresh  bool

	stop    chan struct{}
	stopped chan struct{}
}

// frameKey is what a frame depends on beside the objects.
type frameKey struct {
	width, height int
	second        int64
}

// liveTerminal is the terminal that out is, if a screen can be drawn on it.
func liveTerminal(out io.Writer) (*os.File, bool) {
	file, _ := out.(*os.File)
	return file, isTerminal(out) && os.Getenv("TERM") != "dumb"
}

// startLive begins to show a screen. It must be ended.
func startLive(terminal *os.File, style printer.Style, allPods bool) *live {
	l := &live{
		terminal: terminal, style: style, stop: make(chan struct{}), stopped: make(chan struct{}),
		screen: printer.Screen{AllPods: allPods, Begun: time.Now()},
	}
	l.write(ansi.SetModeAltScreenSaveCursor + ansi.HideCursor + ansi.ResetModeAutoWrap)
	go func() {
		defer close(l.stopped)
		ticks := time.NewTicker(framePause)
		defer ticks.Stop()
		for {
			l.draw(time.Now())
			select {
			case <-ticks.C:
			case <-l.stop:
				return
			}
		}
	}()
	return l
}

// show takes in an object as it is now.
func (l *live) show(r status.Report) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fresh = true
	first := len(l.screen.Reports) == 0
	i := slices.IndexFunc(l.screen.Reports, func(o status.Report) bool { return sameObject(o, r) })
	if i >= 0 {
		l.screen.Reports[i] = r
		return
	}
	l.screen.Reports = append(l.screen.Reports, r)
	if first {
		l.screen.ReadyThen = r.Replicas.Ready
	}
}

// forget takes an object off the screen.
func (l *live) forget(r status.Report) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fresh = true
	l.screen.Reports = slices.DeleteFunc(l.screen.Reports, func(o status.Report) bool { return sameObject(o, r) })
}

func sameObject(a, b status.Report) bool {
	return a.Metadata.Type == b.Metadata.Type && a.Metadata.Namespace == b.Metadata.Namespace && a.Metadata.Name == b.Metadata.Name
}

// draw puts the screen on the terminal, if anything about it has changed. It
// overwrites what is there and clears nothing that it does not write.
func (l *live) draw(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := frameKey{second: now.Unix()}
	key.width, key.height = terminalSize(l.terminal)
	if key == l.drawn && !l.fresh {
		return
	}
	l.drawn, l.fresh = key, false
	var b strings.Builder
	b.WriteString(ansi.SetModeSynchronizedOutput + ansi.CursorHomePosition)
	for i, text := range l.screen.Frame(key.width, key.height, l.style, now) {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(text)
		if ansi.StringWidth(text) < key.width { // or the cursor still stands on the last column
			b.WriteString(ansi.EraseLineRight)
		}
	}
	b.WriteString(ansi.EraseScreenBelow + ansi.ResetModeSynchronizedOutput)
	l.write(b.String())
}

// end gives the terminal back as it was, and leaves the last frame on it.
func (l *live) end() {
	close(l.stop)
	<-l.stopped
	l.write(ansi.SetModeAutoWrap + ansi.ShowCursor + ansi.ResetModeAltScreenSaveCursor)
	width, _ := terminalSize(l.terminal)
	for _, text := range l.screen.Frame(width, 0, l.style, time.Now()) {
		l.write(text + "\r\n")
	}
}

// write shows what it can: whoever took the terminal away does not look.
func (l *live) write(text string) { _, _ = io.WriteString(l.terminal, text) }

// terminalSize is the number of columns and rows of a terminal, or what is usual
// where it does not tell.
func terminalSize(terminal *os.File) (width, height int) {
	width, height, err := term.GetSize(int(terminal.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}
