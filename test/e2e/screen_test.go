package e2e

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
)

// screen is a terminal with a process in it, and somebody who types.
type screen struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File
	done chan struct{}

	mu  sync.Mutex
	now vt10x.Terminal
	raw strings.Builder
}

// startScreen starts a program in a terminal of its own; it is killed when the
// test ends.
func startScreen(t *testing.T, cols, rows int, env []string, program string, args ...string) *screen {
	t.Helper()
	s := &screen{t: t, cmd: exec.Command(program, args...), done: make(chan struct{}), now: vt10x.New(vt10x.WithSize(cols, rows))}
	s.cmd.Env = append(append(environment(), "TERM=xterm-256color"), env...)
	tty, err := pty.StartWithSize(s.cmd, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)})
	if err != nil {
		t.Fatal(err)
	}
	s.tty = tty
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
				break // so Linux tells that the last program in it has ended
			}
		}
		_ = s.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		<-s.done
		_ = tty.Close()
		if t.Failed() {
			t.Logf("the screen of %s:\n%s", program, s.text())
		}
	})
	return s
}

// text is what is on the screen now.
func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := strings.Split(s.now.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// written is all that was written to the terminal, control sequences included.
func (s *screen) written() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.raw.String()
}

// press types keys.
func (s *screen) press(keys string) {
	s.t.Helper()
	if _, err := s.tty.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// shows waits until the screen holds some words.
func (s *screen) shows(words string) {
	s.t.Helper()
	s.becomes("the screen shows "+words, func(text string) bool { return strings.Contains(text, words) })
}

func (s *screen) becomes(what string, condition func(text string) bool) {
	s.t.Helper()
	eventually(s.t, what, func() bool { return condition(s.text()) })
}

// ends waits until the process has ended by itself, and returns its exit code.
func (s *screen) ends() int {
	s.t.Helper()
	select {
	case <-s.done:
	case <-time.After(deadline):
		s.t.Fatal("waited in vain until it ends")
	}
	return s.cmd.ProcessState.ExitCode()
}
