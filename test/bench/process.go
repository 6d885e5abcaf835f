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

// process is a program that goes on until it is stopped.
type process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{}
	// ended is when it did, once done is closed.
	ended time.Time
}

// usage is what a process has used so far.
type usage struct {
	cpu float64 // seconds, of all its threads
	// resident is its memory now, peak the most it had, in bytes.
	resident, peak uint64
}

// startProcess starts a program whose output goes to a file.
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
		_ = cmd.Wait() // it is stopped by a signal
		p.ended = time.Now()
	}()
	return p, nil
}

// usage reads what the kernel knows.
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

// theLoop is what the loop of a subject is called where programs are told apart.
const theLoop = "the loop"

// usedBy is how many seconds of processor time the programs of the control plane,
// this one and a loop have used so far, by their names. They are the children of
// the launcher, and the loop is one of this process.
func usedBy(l *loop) (map[string]float64, error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil, err
	}
	used := map[string]float64{}
	for _, p := range all {
		stat, err := p.Stat()
		switch {
		case err != nil: // it has ended
		case l.process != nil && p.PID == l.cmd.Process.Pid:
			used[theLoop] += stat.CPUTime()
		case stat.PPID == os.Getppid():
			used[stat.Comm] += stat.CPUTime()
		}
	}
	return used, nil
}

// usedSince is what they have used since.
func usedSince(l *loop, before map[string]float64) (map[string]float64, error) {
	used, err := usedBy(l)
	for name := range used {
		used[name] -= before[name]
	}
	return used, err
}

// stop asks the process to end and waits until it has.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // an error: it has ended
	<-p.done
}

// freeze keeps the process from doing anything more, and returns when it does not. On a
// busy machine, it may work on for a while after the signal.
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

// words are what it has said, for an error.
func (p *process) words() string {
	said, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%.4000s", said)
}
