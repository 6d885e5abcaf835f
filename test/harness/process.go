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

// StartRunController starts "kubectl-imoocpod run-controller" in a namespace, and stops it when the test ends.
func (c *Cluster) StartRunController(t *testing.T, namespace string, args ...string) *Process {
	t.Helper()
	return c.StartPlugin(t, append([]string{"run-controller", "-n", namespace}, args...)...)
}

// StartPlugin starts a long-running command of the plugin without kubectl, and stops it when the test ends.
func (c *Cluster) StartPlugin(t *testing.T, args ...string) *Process {
	t.Helper()
	p := &Process{t: t, cmd: exec.Command(filepath.Join(c.PluginDir, program), args...), Done: make(chan struct{})}
	p.cmd.Env = c.Environment()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout, p.cmd.Stderr = w, w
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	go func() {
		defer close(p.Done)
		for lines := bufio.NewScanner(r); lines.Scan(); {
			p.mu.Lock()
			p.lines = append(p.lines, lines.Text())
			p.mu.Unlock()
		}
		_ = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		p.Stop()
		if t.Failed() {
			t.Logf("output of %s:\n%s", args[0], p.Output())
		}
		if strings.Contains(p.Output(), "DATA RACE") {
			t.Errorf("%s has a data race", args[0])
		}
	})
	return p
}

// PID returns the process ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stop sends SIGINT, like Ctrl-C, and returns the exit code.
func (p *Process) Stop() int { return p.signal(os.Interrupt) }

// Wait waits until the process has exited, and returns its exit code.
func (p *Process) Wait() int {
	p.t.Helper()
	select {
	case <-p.Done:
	case <-time.After(Timeout):
		p.t.Fatalf("timed out waiting for the process to exit; output:\n%s", p.Output())
	}
	return p.cmd.ProcessState.ExitCode()
}

// Kill kills the process with SIGKILL.
func (p *Process) Kill() { p.signal(syscall.SIGKILL) }

func (p *Process) signal(s os.Signal) int {
	_ = p.cmd.Process.Signal(s) // fails if the process has already ended
	<-p.Done
	return p.cmd.ProcessState.ExitCode()
}

// Lines returns the lines printed so far.
func (p *Process) Lines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.lines)
}

// Output returns the output so far.
func (p *Process) Output() string {
	return strings.Join(p.Lines(), "\n")
}

// AwaitOutput waits until the process has printed the words.
func (p *Process) AwaitOutput(words string) {
	p.t.Helper()
	Eventually(p.t, "the process prints "+words, func() bool { return strings.Contains(p.Output(), words) })
}

// Freeze suspends the process until Thaw.
func (p *Process) Freeze(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Signal(syscall.SIGCONT) }) // a suspended process would not stop
}

// Thaw resumes the process.
func (p *Process) Thaw(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// AwaitServing waits until the process prints the URL of a service, such as "metrics", and returns the URL.
func (p *Process) AwaitServing(t *testing.T, what string) string {
	t.Helper()
	p.AwaitOutput("Serving " + what + " at ")
	at := regexp.MustCompile("Serving " + what + " at (https?://127.0.0.1:[0-9]+)").FindStringSubmatch(p.Output())
	if at == nil {
		t.Fatalf("%s is not served on loopback; output:\n%s", what, p.Output())
	}
	return at[1]
}
