package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// auditLogVariable is the environment variable with the path of the API server's audit log.
const auditLogVariable = "IMOOCPOD_CLUSTER_AUDIT_LOG"

// graceTimeout is how long a command can take to exit after a signal.
const graceTimeout = 30 * time.Second

func runCommand(ctx context.Context, args []string) error {
	var o options
	flags := o.flagSet("run")
	o.addStateFlags(flags)
	if err := parse(flags, args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return fmt.Errorf("no command to run given, see %q", "cluster --help")
	}
	return withCluster(ctx, o, func(ctx context.Context, c *cluster) error {
		return c.run(ctx, flags.Args())
	})
}

// run runs a command with the control plane as the current cluster. It returns an
// exitCode if the command fails.
func (c *cluster) run(ctx context.Context, command []string) error {
	path, err := c.lookPath(command[0])
	if err != nil {
		return err
	}
	cmd := exec.Command(path, command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(),
		"KUBECONFIG="+c.layout.kubeconfig(),
		"PATH="+c.layout.bin+string(filepath.ListSeparator)+os.Getenv("PATH"),
		auditLogVariable+"="+c.layout.auditLog(),
	)

	// At a terminal, the command stays in the process group of the launcher, so that it can read
	// from the terminal and be suspended. As in a shell, it receives Ctrl-C directly. Without a
	// terminal, the command gets its own group, so that all its processes can be stopped.
	interactive := inForeground()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !interactive}

	signals := make(chan os.Signal, 1)
	signal.Notify(signals, endSignals()...)
	defer signal.Stop(signals)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := c.starter.start(cmd); err != nil {
		return fmt.Errorf("run %s: %w", command[0], err)
	}
	target := cmd.Process.Pid
	if !interactive {
		target = -target
		// Kill the background processes of the command, because the control plane is about to stop.
		defer kill(target, syscall.SIGKILL)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()

	var grace <-chan time.Time
	for {
		select {
		case err := <-done:
			return commandError(command[0], err)
		case <-c.supervisor.died:
			kill(target, syscall.SIGKILL)
			<-done
			return c.supervisor.death
		case signal := <-signals:
			if interactive && signal == syscall.SIGINT {
				continue
			}
			kill(target, signal)
			if grace == nil {
				grace = time.After(graceTimeout)
			}
		case <-grace:
			kill(target, syscall.SIGKILL)
		}
	}
}

// kill sends a signal to a process, or to a group if target is negative. It ignores errors, because
// the process may have exited.
func kill(target int, signal os.Signal) {
	if signal, ok := signal.(syscall.Signal); ok {
		_ = syscall.Kill(target, signal)
	}
}

// lookPath returns the path of a program. For a name without a separator, it searches the programs
// of the control plane before $PATH.
func (c *cluster) lookPath(name string) (string, error) {
	if !strings.ContainsRune(name, filepath.Separator) {
		path := filepath.Join(c.layout.bin, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("find the command to run: %w", err)
	}
	return path, nil
}

// commandError converts the failure of a command to the exit code that a shell would return. It adds
// the name of the command to other errors of Wait.
func commandError(name string, err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		if err != nil {
			return fmt.Errorf("run %s: %w", name, err)
		}
		return nil
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitCode(128 + int(status.Signal()))
	}
	return exitCode(exit.ExitCode())
}

// inForeground reports whether stdin is a terminal with the launcher in its foreground process group.
func inForeground() bool {
	var group int32
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, os.Stdin.Fd(), syscall.TIOCGPGRP, uintptr(unsafe.Pointer(&group))) //nolint:gosec // the standard library has no other way to ask
	return errno == 0 && int(group) == syscall.Getpgrp()
}
