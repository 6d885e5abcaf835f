package harness

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
	"github.com/moby/term"
)

// Terminal is a terminal for a process. Tests type into it and read its screen.
type Terminal struct {
	// TTY is the user's end of the terminal.
	TTY *os.File

	t    *testing.T
	cmd  *exec.Cmd
	done chan struct{}

	mu  sync.Mutex
	now vt10x.Terminal
	raw strings.Builder
}

// StartTerminal starts a program in a new terminal, and kills it when the test ends.
func (c *Cluster) StartTerminal(t *testing.T, cols, rows uint16, env []string, program string, args ...string) *Terminal {
	t.Helper()
	s := &Terminal{t: t, cmd: exec.Command(program, args...), done: make(chan struct{}), now: vt10x.New(vt10x.WithSize(int(cols), int(rows)))}
	s.cmd.Env = append(append(c.Environment(), "TERM=xterm-256color"), env...)
	tty, err := pty.StartWithSize(s.cmd, &pty.Winsize{Cols: cols, Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	s.TTY = tty
	go func() {
		defer close(s.done)
		buffer := make([]byte, 4096)
		for {
			n, err := tty.Read(buffer)
			s.mu.Lock()
			_, _ = s.now.Write(buffer[:n])
			s.raw.Write(buffer[:n])
			s.mu.Unlock()
			if err != nil {
				break // Linux reports an error when the last process of the terminal has ended
			}
		}
		_ = s.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		<-s.done
		_ = tty.Close()
		if t.Failed() {
			t.Logf("last screen of %s:\n%s", program, s.Text())
		}
	})
	return s
}

// Text returns the text on the screen.
func (s *Terminal) Text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := strings.Split(s.now.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// Written returns everything written to the terminal, including control sequences.
func (s *Terminal) Written() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.raw.String()
}

// Press types keys.
func (s *Terminal) Press(keys string) {
	s.t.Helper()
	if _, err := s.TTY.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// AwaitText waits until the screen shows the words.
func (s *Terminal) AwaitText(words string) {
	s.t.Helper()
	s.AwaitScreen("the screen shows "+words, func(text string) bool { return strings.Contains(text, words) })
}

// AwaitScreen waits until the text on the screen meets a condition.
func (s *Terminal) AwaitScreen(what string, condition func(text string) bool) {
	s.t.Helper()
	Eventually(s.t, what, func() bool { return condition(s.Text()) })
}

// Wait waits until the process has exited, and returns its exit code.
func (s *Terminal) Wait() int {
	s.t.Helper()
	select {
	case <-s.done:
	case <-time.After(Timeout):
		s.t.Fatal("timed out waiting for the process to exit")
	}
	return s.cmd.ProcessState.ExitCode()
}

// Resize changes the size of the terminal, as if a user resized its window.
func (s *Terminal) Resize(cols, rows uint16) {
	s.t.Helper()
	s.mu.Lock()
	s.now.Resize(int(cols), int(rows))
	s.mu.Unlock()
	if err := pty.Setsize(s.TTY, &pty.Winsize{Cols: cols, Rows: rows}); err != nil {
		s.t.Fatal(err)
	}
}

// InAlternateScreen reports whether the terminal shows the alternate screen.
func (s *Terminal) InAlternateScreen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.Mode()&vt10x.ModeAltScreen != 0
}

// CheckRestored checks that the terminal has the saved settings, the main screen, line wrap, and a visible cursor.
func (s *Terminal) CheckRestored(before *term.State) {
	s.t.Helper()
	if after, err := term.SaveState(s.TTY.Fd()); err != nil || *after != *before {
		s.t.Errorf("the terminal's settings were not restored (error %v)", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.Mode()&vt10x.ModeAltScreen != 0 || s.now.Mode()&vt10x.ModeWrap == 0 || !s.now.CursorVisible() {
		s.t.Errorf("the terminal mode was not restored: %b", s.now.Mode())
	}
}

// AwaitCompletion presses keys until the screen shows the words. It repeats the keys, because on a
// busy machine, the first response may come too late.
func (s *Terminal) AwaitCompletion(keys, words string) {
	s.t.Helper()
	Eventually(s.t, "the shell completes "+words, func() bool {
		s.Press(keys)
		before := s.Written()
		Eventually(s.t, "the shell responds", func() bool {
			return s.Written() != before || strings.Contains(s.Text(), words)
		})
		return strings.Contains(s.Text(), words)
	})
}
