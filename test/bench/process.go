package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// process is a started program and its log file.
type process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{}
	// ended is the exit time, which is valid after done is closed.
	ended time.Time
}

// usage holds the resources that a process has used so far.
type usage struct {
	cpu float64 // seconds, of all its threads
	// resident is the current memory in bytes. peak is its maximum so far.
	resident, peak uint64
}

// start starts a program, and writes its output to a new log file.
func (b *bench) start(cmd *exec.Cmd) *process {
	name := fmt.Sprintf("%d-%s.log", len(b.logs), filepath.Base(cmd.Path))
	p := &process{cmd: cmd, log: filepath.Join(b.scratch, name), done: make(chan struct{})}
	b.logs = append(b.logs, p.log)
	f := must(os.Create(p.log))
	defer f.Close()
	cmd.Stdout, cmd.Stderr = f, f
	check(cmd.Start())
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // fails if the program fails or a signal ends it
		p.ended = time.Now()
	}()
	return p
}

// lastOutput returns the beginning of the output of each of the last two processes, such as a loop and a
// command that follows an object.
func (b *bench) lastOutput() string {
	var text strings.Builder
	for _, log := range b.logs[max(0, len(b.logs)-2):] {
		fmt.Fprintf(&text, "output in %s: %s\n", filepath.Base(log), outputIn(log))
	}
	return text.String()
}

func (p *process) usage() usage {
	proc := must(procfs.NewProc(p.cmd.Process.Pid))
	stat, status := must(proc.Stat()), must(proc.NewStatus())
	return usage{cpu: stat.CPUTime(), resident: status.VmRSS, peak: status.VmHWM}
}

// stop sends SIGTERM to the process, and waits until it has exited. stop does nothing for a nil process.
func (p *process) stop() { p.end(syscall.SIGTERM) }

func (p *process) kill() { p.end(syscall.SIGKILL) }

func (p *process) end(signal syscall.Signal) {
	if p != nil {
		_ = p.cmd.Process.Signal(signal) // fails if the process has exited
		<-p.done
	}
}

// freeze sends SIGSTOP, and waits until the process is stopped. This may take a while on a busy machine.
func (p *process) freeze(ctx context.Context) {
	const stopped = "T"
	proc := must(procfs.NewProc(p.cmd.Process.Pid))
	check(p.cmd.Process.Signal(syscall.SIGSTOP))
	await(ctx, time.Millisecond, "the process is stopped", func() bool { return must(proc.Stat()).State == stopped })
}

func (p *process) exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// output returns the beginning of the output, for error messages.
func (p *process) output() string { return outputIn(p.log) }

func outputIn(log string) string {
	text, err := os.ReadFile(log)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%.4000s", text)
}
