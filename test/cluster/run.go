package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// auditLogVariable is the environment variable with the path of the API server's audit log.
const auditLogVariable = "IMOOCPOD_CLUSTER_AUDIT_LOG"

// graceTimeout limits how long to wait for a command to exit after a signal.
const graceTimeout = 30 * time.Second

func runCommand(ctx context.Context, args []string) error {
	var o options
	flags := o.flagSet("run")
	if err := flags.Parse(args); err != nil {
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
	for name, value := range map[string]string{
		"KUBECONFIG":     c.layout.kubeconfig(),
		"PATH":           c.layout.bin + string(filepath.ListSeparator) + os.Getenv("PATH"),
		auditLogVariable: c.layout.auditLog(),
	} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	// The command has its own process group, so that all its processes can be stopped. Therefore,
	// it cannot read from a terminal.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(cmd.SysProcAttr, syscall.SIGKILL)
	signalAll := func(signal syscall.Signal) error { return syscall.Kill(-cmd.Process.Pid, signal) }
	cmd.Cancel = func() error { return signalAll(syscall.SIGTERM) }
	cmd.WaitDelay = graceTimeout
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run %s: %w", command[0], err)
	}
	err := cmd.Wait()
	// Kill the background processes of the command, because the control plane is about to stop.
	_ = signalAll(syscall.SIGKILL) // fails if no process is left
	return commandError(command[0], err)
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
