package e2e

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// loop is a run-controller of the plugin under test, or another verb of it that
// goes on until it is stopped.
type loop struct {
	t    *testing.T
	cmd  *exec.Cmd
	done chan struct{}

	mu    sync.Mutex
	lines []string
}

// startLoop starts "kubectl-imoocpod run-controller" in a namespace; it is
// stopped when the test ends. It is started without kubectl, which would stand
// between it and the signals of the tests.
func startLoop(t *testing.T, namespace string, args ...string) *loop {
	t.Helper()
	return startPlugin(t, append([]string{"run-controller", "-n", namespace}, args...)...)
}

// startPlugin is startLoop for any verb that goes on until it is stopped.
func startPlugin(t *testing.T, args ...string) *loop {
	t.Helper()
	l := &loop{t: t, cmd: exec.Command(cluster.pluginDir+"/kubectl-imoocpod", args...), done: make(chan struct{})}
	l.cmd.Env = environment()
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
		defer close(l.done)
		for lines := bufio.NewScanner(r); lines.Scan(); {
			l.mu.Lock()
			l.lines = append(l.lines, lines.Text())
			l.mu.Unlock()
		}
		_ = l.cmd.Wait()
	}()
	t.Cleanup(func() {
		l.stop()
		if t.Failed() {
			t.Logf("%s said:\n%s", args[0], l.output())
		}
		if strings.Contains(l.output(), "DATA RACE") {
			t.Errorf("%s has a data race", args[0])
		}
	})
	return l
}

// stop asks the loop to stop, as Ctrl-C does, and returns its exit code.
func (l *loop) stop() int { return l.signal(os.Interrupt) }

// ends waits until the process has ended by itself, and returns its exit code.
func (l *loop) ends() int {
	l.t.Helper()
	select {
	case <-l.done:
	case <-time.After(deadline):
		l.t.Fatalf("waited in vain until it ends; it said:\n%s", l.output())
	}
	return l.cmd.ProcessState.ExitCode()
}

// kill ends the loop as kill -9 does.
func (l *loop) kill() { l.signal(syscall.SIGKILL) }

func (l *loop) signal(s os.Signal) int {
	_ = l.cmd.Process.Signal(s) // an error means that it has ended already
	<-l.done
	return l.cmd.ProcessState.ExitCode()
}

func (l *loop) output() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

// says waits until the loop has printed some words.
func (l *loop) says(words string) {
	l.t.Helper()
	eventually(l.t, "the loop says "+words, func() bool { return strings.Contains(l.output(), words) })
}
