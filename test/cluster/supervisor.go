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

// stopTimeout is how long a component may take to end after SIGTERM. The API
// server takes its time, as it waits for the requests that it serves.
const stopTimeout = 90 * time.Second

// component is a program with all that it takes to start it.
type component struct {
	name string
	path string
	args []string
	// tidies says that it has something to take down when it is ended.
	tidies bool
}

// starter starts processes. All come from one thread that lives as long as the
// launcher, because Linux ends a process that is to end with its parent already
// when the thread that started it ends.
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

// start starts the command, which ends when the launcher does.
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
	// stopped is closed when the process is about to be ended on purpose.
	stopped  chan struct{}
	stopOnce sync.Once
	// done is closed when the process has ended, err then says how.
	done chan struct{}
	err  error
}

// diedError says that a component ended although nobody wanted it to.
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

// supervisor starts and ends the components of one control plane and notices
// when one of them ends by itself.
type supervisor struct {
	dir     string
	starter *starter
	// died is closed when a component has ended unexpectedly, death then says
	// which was the first.
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

// start starts a component and returns without waiting for it to be ready.
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
	// etcd and kwok would take settings from the environment and from the home
	// directory. GOGC trades memory for processor time.
	cmd.Env = []string{"HOME=" + s.dir, "PATH=" + os.Getenv("PATH"), "GOGC=" + os.Getenv("GOGC")}
	cmd.Stdout = log
	cmd.Stderr = log
	// A Ctrl-C at the terminal is for the launcher, which ends the components in
	// its own way.
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
	// The first one is the cause, others may follow from it.
	s.diedOnce.Do(func() {
		s.death = &diedError{component: p.name, err: p.err, log: node.LogTail(p.logPath)}
		close(s.died)
	})
}

// untilDeath returns a context that ends with ctx or as soon as a component ends
// unexpectedly, which then is its cause.
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

// stop ends a component with the given signal and waits until it is gone.
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

// stopAll ends all components at once. Nothing that most of them could still do
// on SIGTERM matters, as their data is not used again.
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

// signal sends a signal that is expected to end the process.
func (p *process) signal(signal syscall.Signal) error {
	p.stopOnce.Do(func() { close(p.stopped) })
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %s: %w", p.name, err)
	}
	return nil
}

// kill ends the process and waits until it is gone.
func (p *process) kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}
