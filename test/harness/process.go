package harness

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Process is a run-controller or another long-running command of the plugin under test.
type Process struct {
	// Done is closed when the process has ended.
	Done chan struct{}

	t   *testing.T
	cmd *exec.Cmd

	mu    sync.Mutex
	lines []string
}

// StartRunController starts "kubectl-imoocpod run-controller" in a namespace, and stops it when the
// test ends. The command runs without kubectl, which would intercept the signals.
func (c *Cluster) StartRunController(t *testing.T, namespace string, args ...string) *Process {
	t.Helper()
	return c.StartPlugin(t, append([]string{"run-controller", "-n", namespace}, args...)...)
}

// StartPlugin starts any long-running command of the plugin.
func (c *Cluster) StartPlugin(t *testing.T, args ...string) *Process {
	t.Helper()
	l := &Process{t: t, cmd: exec.Command(filepath.Join(c.PluginDir, program), args...), Done: make(chan struct{})}
	l.cmd.Env = c.Environment()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	l.cmd.Stdout, l.cmd.Stderr = w, w
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	go func() {
		defer close(l.Done)
		for lines := bufio.NewScanner(r); lines.Scan(); {
			l.mu.Lock()
			l.lines = append(l.lines, lines.Text())
			l.mu.Unlock()
		}
		_ = l.cmd.Wait()
	}()
	t.Cleanup(func() {
		l.Stop()
		if t.Failed() {
			t.Logf("%s said:\n%s", args[0], l.Output())
		}
		if strings.Contains(l.Output(), "DATA RACE") {
			t.Errorf("%s has a data race", args[0])
		}
	})
	return l
}

// PID returns the process ID.
func (l *Process) PID() int { return l.cmd.Process.Pid }

// Stop sends SIGINT, like Ctrl-C, and returns the exit code.
func (l *Process) Stop() int { return l.signal(os.Interrupt) }

// Wait waits until the process has exited, and returns its exit code.
func (l *Process) Wait() int {
	l.t.Helper()
	select {
	case <-l.Done:
	case <-time.After(Timeout):
		l.t.Fatalf("timed out waiting for the process to exit; it said:\n%s", l.Output())
	}
	return l.cmd.ProcessState.ExitCode()
}

// Kill kills the process with SIGKILL.
func (l *Process) Kill() { l.signal(syscall.SIGKILL) }

func (l *Process) signal(s os.Signal) int {
	_ = l.cmd.Process.Signal(s) // fails if the process has already ended
	<-l.Done
	return l.cmd.ProcessState.ExitCode()
}

// Lines returns the lines printed so far.
func (l *Process) Lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

// Output returns the output so far.
func (l *Process) Output() string {
	return strings.Join(l.Lines(), "\n")
}

// AwaitOutput waits until the process has printed the words.
func (l *Process) AwaitOutput(words string) {
	l.t.Helper()
	Eventually(l.t, "the loop says "+words, func() bool { return strings.Contains(l.Output(), words) })
}

// Freeze suspends the process until Thaw.
func (l *Process) Freeze(t *testing.T) {
	t.Helper()
	if err := l.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.cmd.Process.Signal(syscall.SIGCONT) }) // a suspended process would not stop
}

// Thaw resumes the process.
func (l *Process) Thaw(t *testing.T) {
	t.Helper()
	if err := l.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// AwaitServing waits until the process prints the URL of what, such as "metrics", and returns the URL.
func (l *Process) AwaitServing(t *testing.T, what string) string {
	t.Helper()
	l.AwaitOutput("Serving " + what + " at ")
	at := regexp.MustCompile("Serving " + what + " at (https?://127.0.0.1:[0-9]+)").FindStringSubmatch(l.Output())
	if at == nil {
		t.Fatalf("the loop does not serve %s on loopback:\n%s", what, l.Output())
	}
	return at[1]
}
