package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"k8s.io/apimachinery/pkg/util/wait"
)

// process is a program that runs until it is stopped.
type process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{}
	// ended is the exit time, valid once done is closed.
	ended time.Time
}

// usage holds the resources that a process has used so far.
type usage struct {
	cpu float64 // seconds, of all its threads
	// resident is the current memory in bytes. peak is its maximum so far.
	resident, peak uint64
}

// startProcess starts a program that writes its output to a file.
func startProcess(cmd *exec.Cmd, log string) (*process, error) {
	f, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	cmd.Stdout, cmd.Stderr = f, f
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, log: log, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // exits by a signal
		p.ended = time.Now()
	}()
	return p, nil
}

// usage reads the usage from the kernel.
func (p *process) usage() (usage, error) {
	proc, err := procfs.NewProc(p.cmd.Process.Pid)
	if err != nil {
		return usage{}, err
	}
	stat, err := proc.Stat()
	if err != nil {
		return usage{}, err
	}
	status, err := proc.NewStatus()
	return usage{cpu: stat.CPUTime(), resident: status.VmRSS, peak: status.VmHWM}, err
}

// stop sends SIGTERM to the process, and waits until it has exited.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails if it has exited
	<-p.done
}

// freeze sends SIGSTOP, and waits until the process is stopped. On a busy machine, the
// process may run for a while after the signal.
func (p *process) freeze(ctx context.Context) error {
	const stopped = "T"
	proc, err := procfs.NewProc(p.cmd.Process.Pid)
	if err != nil {
		return err
	}
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx, time.Millisecond, true, func(context.Context) (bool, error) {
		stat, err := proc.Stat()
		return stat.State == stopped, err
	})
}

// words returns the beginning of the output so far, for an error message.
func (p *process) words() string {
	said, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%.4000s", said)
}
