package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/test/cluster/node"
)

// stopTimeout limits how long to wait for a component to exit after SIGTERM. It is long because the
// API server waits for open requests.
const stopTimeout = 90 * time.Second

type component struct {
	name string
	path string
	args []string
	// tidies means that the component has to clean up when it is stopped.
	tidies bool
}

// endSignal returns the signal that ends the component if its data is not used again.
func (c component) endSignal() syscall.Signal {
	if c.tidies {
		return syscall.SIGTERM
	}
	return syscall.SIGKILL
}

// process is one run of a component.
type process struct {
	component
	cmd *exec.Cmd
	// stopping is set immediately before the process is stopped on purpose.
	stopping atomic.Bool
	// done is closed when the process has exited.
	done chan struct{}
}

type diedError struct {
	component string
	state     string
	log       string
}

func (e *diedError) Error() string {
	return fmt.Sprintf("%s ended unexpectedly (%s), the end of its log is:\n%s", e.component, e.state, e.log)
}

// supervisor starts and stops the components of a control plane. It is not safe for concurrent use.
type supervisor struct {
	dir string
	// fail is called with a diedError after each unexpected exit of a component. One exit can cause others.
	fail      context.CancelCauseFunc
	processes map[string]*process
}

// start starts a component, but does not wait until it is ready.
func (s *supervisor) start(c component) error {
	if s.processes[c.name] != nil {
		return fmt.Errorf("%s is running already", c.name)
	}
	logPath := filepath.Join(s.dir, c.name+".log")
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of %s: %w", c.name, err)
	}
	defer log.Close()
	cmd := exec.Command(c.path, c.args...)
	cmd.Dir = s.dir
	// Hide the user's environment from components such as etcd and kwok, except PATH and GOGC. With
	// GOGC, the caller can trade memory for CPU time.
	cmd.Env = []string{"HOME=" + s.dir, "PATH=" + os.Getenv("PATH"), "GOGC=" + os.Getenv("GOGC")}
	cmd.Stdout = log
	cmd.Stderr = log
	// At a terminal, only the launcher should receive Ctrl-C, and stop the components.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(cmd.SysProcAttr, c.endSignal())
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", c.name, err)
	}

	p := &process{component: c, cmd: cmd, done: make(chan struct{})}
	s.processes[c.name] = p
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // the result is in cmd.ProcessState
		if !p.stopping.Load() {
			s.fail(&diedError{component: c.name, state: cmd.ProcessState.String(), log: node.LogTail(logPath)})
		}
	}()
	return nil
}

// stop stops a component with a signal, and waits until it has exited. After
// stopTimeout, or when ctx is done, it kills the component and returns an error.
func (s *supervisor) stop(ctx context.Context, name string, signal syscall.Signal) error {
	p := s.processes[name]
	if p == nil {
		return fmt.Errorf("%s is not running", name)
	}
	delete(s.processes, name)
	p.signal(signal)
	ctx, cancel := context.WithTimeoutCause(ctx, stopTimeout, fmt.Errorf("it was killed after %s", stopTimeout))
	defer cancel()
	return p.await(ctx)
}

// stopAll stops all components at the same time.
func (s *supervisor) stopAll(ctx context.Context) error {
	for _, p := range s.processes {
		p.signal(p.endSignal())
	}
	ctx, cancel := context.WithTimeoutCause(ctx, stopTimeout, fmt.Errorf("it was killed after %s", stopTimeout))
	defer cancel()
	var errs []error
	for _, p := range s.processes {
		errs = append(errs, p.await(ctx))
	}
	clear(s.processes)
	return errors.Join(errs...)
}

// signal records that the process is stopped on purpose, and sends it a signal.
func (p *process) signal(signal syscall.Signal) {
	p.stopping.Store(true)
	_ = p.cmd.Process.Signal(signal) // fails if it has already exited
}

// await waits until the process has exited. When ctx is done, it kills the process and returns an error.
func (p *process) await(ctx context.Context) error {
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
	}
	p.signal(syscall.SIGKILL)
	<-p.done
	return fmt.Errorf("stop %s: %w", p.name, context.Cause(ctx))
}
