package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/imoocpod/kubectl-imoocpod/test/cluster/node"
)

// background is the directory of the launcher, the process that "cluster up" starts and "cluster down" stops.
type background string

// The files of a launcher in the background.
const (
	lockName  = "lock"       // locked by the launcher or by "cluster up"; contains the process ID of the launcher
	readyName = "ready.json" // the output of the launcher: the endpoint of the control plane when it is ready
	logName   = "launcher.log"
)

// inheritedLock is the file descriptor of the lock in the launcher.
const inheritedLock = 3

func newBackground() (background, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "background")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("create the directory of the launcher: %w", err)
	}
	return background(dir), nil
}

func (b background) file(name string) string { return filepath.Join(string(b), name) }

// tryLock acquires the lock if it is free, and reports whether it did.
func (b background) tryLock() (lock *fileLock, free bool, err error) {
	lock, err = openLock(b.file(lockName), os.O_CREATE|os.O_RDWR)
	if err == nil {
		free, err = lock.try()
	}
	if err != nil {
		return nil, false, fmt.Errorf("look for a launcher: %w", err)
	}
	return lock, free, nil
}

func (b background) hasEnded(context.Context) (bool, error) {
	lock, free, err := b.tryLock()
	if err != nil {
		return false, err
	}
	lock.release()
	return free, nil
}

func upCommand(ctx context.Context, args []string) error {
	var o options
	if err := parseAll(o.flagSet("up"), args); err != nil {
		return err
	}
	b, err := newBackground()
	if err != nil {
		return err
	}
	e, err := b.up(ctx, o, args)
	if err != nil {
		return err
	}
	fmt.Printf("export KUBECONFIG=%s\n", shellQuote(e.Kubeconfig))
	fmt.Printf("export PATH=%s:\"$PATH\"\n", shellQuote(e.Bin))
	fmt.Printf("export %s=%s\n", auditLogVariable, shellQuote(e.AuditLog))
	progress("ready; the printed lines set KUBECONFIG and put its kubectl first in PATH")
	return nil
}

// up starts the control plane if it is not running, waits until it is ready, and returns its
// endpoint. The options o were parsed from args.
func (b background) up(ctx context.Context, o options, args []string) (endpoint, error) {
	lock, free, err := b.tryLock()
	if err != nil {
		return endpoint{}, err
	}
	if !free {
		lock.release()
		progress("already running, with the settings of its start; \"make cluster-down\" stops it")
		return b.awaitReady(ctx)
	}
	err = b.start(ctx, o, args, lock)
	lock.release() // the launcher still holds the lock
	if err != nil {
		return endpoint{}, err
	}
	e, err := b.awaitReady(ctx)
	if err != nil {
		err = errors.Join(err, b.end(context.WithoutCancel(ctx)))
	}
	return e, err
}

// start starts the launcher, which inherits the lock, in a new session.
func (b background) start(ctx context.Context, o options, args []string, lock *fileLock) error {
	if err := lock.file.Truncate(0); err != nil {
		return fmt.Errorf("forget the last launcher: %w", err)
	}
	ready, err := os.Create(b.file(readyName))
	if err != nil {
		return fmt.Errorf("create the output of the launcher: %w", err)
	}
	defer ready.Close()
	log, err := os.Create(b.file(logName))
	if err != nil {
		return fmt.Errorf("create the log of the launcher: %w", err)
	}
	defer log.Close()
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the launcher: %w", err)
	}
	// Build here, so that users see the progress. The launcher prints its progress to a log file.
	if _, _, err := ensureAll(ctx, o); err != nil {
		return err
	}
	progress("starting the control plane (some seconds)")
	cmd := exec.Command(executable, slices.Concat([]string{"serve", "--detached"}, args)...)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = ready, log, []*os.File{lock.file}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the launcher: %w", err)
	}
	if _, err := lock.file.WriteString(strconv.Itoa(cmd.Process.Pid)); err != nil {
		return fmt.Errorf("record the process of the launcher: %w", err)
	}
	return nil
}

// awaitReady waits until the control plane is ready, and returns its endpoint. It returns an error
// if the launcher exits.
func (b background) awaitReady(ctx context.Context) (e endpoint, err error) {
	err = wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		ended, err := b.hasEnded(ctx)
		if err != nil {
			return false, err
		}
		if ended {
			return false, fmt.Errorf("its launcher has exited:\n%s", node.LogTail(b.file(logName)))
		}
		data, err := os.ReadFile(b.file(readyName))
		if err != nil || len(data) == 0 {
			return false, err
		}
		return true, json.Unmarshal(data, &e)
	})
	if err != nil {
		return endpoint{}, fmt.Errorf("wait for the control plane: %w", err)
	}
	return e, nil
}

// end stops the launcher, and waits until it has exited.
func (b background) end(ctx context.Context) error {
	data, err := os.ReadFile(b.file(lockName))
	if err != nil {
		return fmt.Errorf("look for a launcher: %w", err)
	}
	pid, err := strconv.Atoi(string(data))
	if err != nil {
		return errors.New("\"cluster up\" has not started the control plane yet")
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("end process %d: %w", pid, err)
	}
	if err := wait.PollUntilContextTimeout(ctx, pollInterval, 2*stopTimeout, true, b.hasEnded); err != nil {
		return fmt.Errorf("wait for the end of process %d: %w", pid, err)
	}
	return nil
}

func downCommand(ctx context.Context, args []string) error {
	if err := parseAll(flag.NewFlagSet("cluster down", flag.ContinueOnError), args); err != nil {
		return err
	}
	b, err := newBackground()
	if err != nil {
		return err
	}
	ended, err := b.hasEnded(ctx)
	if err != nil {
		return err
	}
	if ended {
		progress("nothing is running")
	} else if err := b.end(ctx); err != nil {
		return err
	}
	if err := removeStale(); err != nil {
		return err
	}
	if kubeconfig := os.Getenv("KUBECONFIG"); kubeconfig != "" {
		if _, err := os.Stat(kubeconfig); errors.Is(err, fs.ErrNotExist) {
			progress("KUBECONFIG still names it: unset KUBECONFIG")
		}
	}
	return nil
}

// shellQuote quotes text as one word of a shell command.
func shellQuote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
