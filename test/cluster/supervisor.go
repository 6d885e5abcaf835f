package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/test/cluster/node"
)

// stopTimeout is how long a component can take to exit after SIGTERM. It is long because the API
// server waits for open requests.
const stopTimeout = 90 * time.Second

type component struct {
	name string
	path string
	args []string
	// tidies means that the component has to clean up when it is stopped.
	tidies bool
}

// starter starts processes from a single thread that lives as long as the launcher. If PDEATHSIG is
// set, Linux kills a process when the thread that started it exits.
type starter struct {
	commands chan *exec.Cmd
	results  chan error
	mutex    sync.Mutex
}

func newStarter() *starter {
	s := &starter{commands: make(chan *exec.Cmd), results: make(chan error)}
	go func() {
		runtime.LockOSThread()
		for cmd := range s.commands {
			s.results <- cmd.Start()
		}
	}()
	return s
}

// start starts a command that is killed with the launcher.
func (s *starter) start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	endWithParent(cmd.SysProcAttr)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.commands <- cmd
	return <-s.results
}

// process is one run of a component.
type process struct {
	name    string
	cmd     *exec.Cmd
	logPath string
	tidies  bool
	// stopped is closed immediately before the process is stopped on purpose.
	stopped  chan struct{}
	stopOnce sync.Once
	// done is closed when the process has exited, after err is set.
	done chan struct{}
	err  error
}

type diedError struct {
	component string
	err       error
	log       string
}

func (e *diedError) Error() string {
	state := "exit status 0"
	if e.err != nil {
		state = e.err.Error()
	}
	return fmt.Sprintf("%s ended unexpectedly (%s), the end of its log is:\n%s", e.component, state, e.log)
}

// supervisor starts and stops the components of a control plane, and detects unexpected exits.
type supervisor struct {
	dir     string
	starter *starter
	// died is closed after the first unexpected exit of a component. death describes this exit, and
	// is set before died is closed.
	died     chan struct{}
	death    *diedError
	diedOnce sync.Once

	mutex     sync.Mutex
	processes map[string]*process
}

func newSupervisor(dir string, starter *starter) *supervisor {
	return &supervisor{
		dir:       dir,
		starter:   starter,
		died:      make(chan struct{}),
		processes: map[string]*process{},
	}
}

// start starts a component, but does not wait until it is ready.
func (s *supervisor) start(c component) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
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
	// At a terminal, only the launcher should receive Ctrl-C. It stops the components.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.starter.start(cmd); err != nil {
		return fmt.Errorf("start %s: %w", c.name, err)
	}

	p := &process{
		name:    c.name,
		cmd:     cmd,
		logPath: logPath,
		tidies:  c.tidies,
		stopped: make(chan struct{}),
		done:    make(chan struct{}),
	}
	s.processes[c.name] = p
	go s.watch(p)
	pidFile := filepath.Join(s.dir, c.name+pidSuffix)
	if err := os.WriteFile(pidFile, []byte(strconv.Itoa(cmd.Process.Pid)+"\n"), 0o600); err != nil {
		return fmt.Errorf("record the process of %s: %w", c.name, err)
	}
	return nil
}

func (s *supervisor) watch(p *process) {
	p.err = p.cmd.Wait()
	close(p.done)
	select {
	case <-p.stopped:
		return
	default:
	}
	// Report only the first exit, because it can cause others.
	s.diedOnce.Do(func() {
		s.death = &diedError{component: p.name, err: p.err, log: node.LogTail(p.logPath)}
		close(s.died)
	})
}

// untilDeath returns a context that is canceled with ctx or when a component exits unexpectedly. For
// an unexpected exit, the cause of the cancellation is a diedError.
func (s *supervisor) untilDeath(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-s.died:
			cancel(s.death)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// stop stops a component with a signal, and waits until it has exited. After
// stopTimeout, or when ctx is done, it kills the component and returns an error.
func (s *supervisor) stop(ctx context.Context, name string, signal syscall.Signal) error {
	s.mutex.Lock()
	p := s.processes[name]
	delete(s.processes, name)
	s.mutex.Unlock()
	if p == nil {
		return fmt.Errorf("%s is not running", name)
	}

	if err := p.signal(signal); err != nil {
		return err
	}
	deadline := time.NewTimer(stopTimeout)
	defer deadline.Stop()
	var err error
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		err = fmt.Errorf("stop %s: %w", name, context.Cause(ctx))
	case <-deadline.C:
		err = fmt.Errorf("%s did not end within %s and was killed", name, stopTimeout)
	}
	return errors.Join(err, p.kill())
}

// stopAll stops all components at the same time. It kills components that do not have to clean up,
// because their data is not used again.
func (s *supervisor) stopAll() error {
	s.mutex.Lock()
	processes := s.processes
	s.processes = map[string]*process{}
	s.mutex.Unlock()

	var errs []error
	for _, p := range processes {
		signal := syscall.SIGKILL
		if p.tidies {
			signal = syscall.SIGTERM
		}
		errs = append(errs, p.signal(signal))
	}
	deadline := time.After(stopTimeout)
	for _, p := range processes {
		select {
		case <-p.done:
		case <-deadline:
			errs = append(errs, p.kill())
		}
	}
	return errors.Join(errs...)
}

// signal records that the process is stopped on purpose, and sends it a signal.
func (p *process) signal(signal syscall.Signal) error {
	p.stopOnce.Do(func() { close(p.stopped) })
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %s: %w", p.name, err)
	}
	return nil
}

func (p *process) kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}
