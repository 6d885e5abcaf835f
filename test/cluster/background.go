package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/test/cluster/node"
)

// background is the directory of the control plane that "cluster up" starts and "cluster down" stops.
type background struct {
	dir string
}

func newBackground(dir string) (background, error) {
	if dir == "" {
		cache, err := cacheDir()
		if err != nil {
			return background{}, err
		}
		return background{dir: filepath.Join(cache, "up")}, nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return background{}, fmt.Errorf("resolve the directory: %w", err)
	}
	return background{dir: dir}, nil
}

func (b background) stateDir() string { return filepath.Join(b.dir, "cluster") }
func (b background) logPath() string  { return filepath.Join(b.dir, "launcher.log") }

const backgroundDirUsage = "`directory` of the control plane in the background (default one in the cache)"

func upCommand(ctx context.Context, args []string) error {
	var o options
	flags := o.flagSet("up")
	flags.StringVar(&o.dir, "dir", "", backgroundDirUsage)
	if err := parseAll(flags, args); err != nil {
		return err
	}
	b, err := newBackground(o.dir)
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
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return endpoint{}, fmt.Errorf("create the directory: %w", err)
	}
	// Only one "up" runs at a time. A second "up" waits, and then finds the running control plane.
	lock, err := openLock(filepath.Join(b.dir, "up.lock"), os.O_CREATE)
	if err != nil {
		return endpoint{}, fmt.Errorf("open the lock: %w", err)
	}
	defer lock.release()
	if err := lock.wait(ctx); err != nil {
		return endpoint{}, fmt.Errorf("wait for another up: %w", err)
	}

	launcher, free, err := openStateLock(b.stateDir())
	if err != nil {
		return endpoint{}, err
	}
	if launcher != nil {
		defer launcher.release()
		if !free {
			progress("already running")
			return b.awaitReady(ctx, func() (bool, error) { return launcher.try() })
		}
		launcher.release()
	}

	// Build here, so that users see the progress. The launcher prints its progress to a log file.
	if _, _, err := ensureAll(ctx, o); err != nil {
		return endpoint{}, err
	}
	progress("starting the control plane (some seconds)")
	return b.start(ctx, args)
}

// start starts the launcher in a new session, and waits until the control plane is ready. args are
// the arguments of "cluster up". On an error, start stops the launcher.
func (b background) start(ctx context.Context, args []string) (endpoint, error) {
	executable, err := os.Executable()
	if err != nil {
		return endpoint{}, fmt.Errorf("find the launcher: %w", err)
	}
	log, err := os.Create(b.logPath())
	if err != nil {
		return endpoint{}, fmt.Errorf("create the log of the launcher: %w", err)
	}
	defer log.Close()
	// The last --dir wins.
	cmd := exec.Command(executable, slices.Concat([]string{"serve"}, args, []string{"--detached", "--dir=" + b.stateDir()})...)
	cmd.Stdout = log
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return endpoint{}, fmt.Errorf("start the launcher: %w", err)
	}

	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	e, err := b.awaitReady(ctx, func() (bool, error) {
		select {
		case err := <-done:
			done <- err // for the receive below
			return true, nil
		default:
			return false, nil
		}
	})
	if err != nil {
		_ = cmd.Process.Signal(syscall.SIGTERM) // fails if it already exited
		<-done
		return endpoint{}, err
	}
	return e, nil
}

// awaitReady waits until the control plane is ready, and returns its endpoint. It returns an error
// if ended() reports that the launcher has exited.
func (b background) awaitReady(ctx context.Context, ended func() (bool, error)) (endpoint, error) {
	var e endpoint
	err := poll(ctx, func(context.Context) (bool, error) {
		data, err := os.ReadFile(filepath.Join(b.stateDir(), readyName))
		if err == nil {
			return true, json.Unmarshal(data, &e)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		gone, err := ended()
		if gone {
			err = fmt.Errorf("its launcher has exited:\n%s", node.LogTail(b.logPath()))
		}
		return false, err
	})
	if err != nil {
		return endpoint{}, fmt.Errorf("wait for the control plane: %w", err)
	}
	return e, nil
}

func downCommand(ctx context.Context, args []string) error {
	flags := newFlagSet("down")
	dir := flags.String("dir", "", backgroundDirUsage)
	if err := parseAll(flags, args); err != nil {
		return err
	}
	b, err := newBackground(*dir)
	if err != nil {
		return err
	}
	if err := b.down(ctx); err != nil {
		return err
	}
	if kubeconfig := os.Getenv("KUBECONFIG"); kubeconfig != "" {
		if _, err := os.Stat(kubeconfig); errors.Is(err, fs.ErrNotExist) {
			progress("KUBECONFIG still names it: unset KUBECONFIG")
		}
	}
	return nil
}

// down stops the control plane if it is running, and removes its state directory.
func (b background) down(ctx context.Context) error {
	launcher, free, err := openStateLock(b.stateDir())
	if err != nil {
		return err
	}
	if launcher == nil {
		progress("nothing is running")
		return nil
	}
	defer launcher.release()
	if free {
		launcher.release()
		progress("nothing is running, removing what a launcher that was killed has left")
		return removeStale(ctx, b.stateDir())
	}

	pid, err := readPid(launcher.file.Name())
	if err != nil {
		return err
	}
	for _, attempt := range []struct {
		signal  syscall.Signal
		timeout time.Duration
	}{{syscall.SIGTERM, time.Minute}, {syscall.SIGKILL, 10 * time.Second}} {
		if err := syscall.Kill(pid, attempt.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("end process %d: %w", pid, err)
		}
		waitCtx, cancel := context.WithTimeout(ctx, attempt.timeout)
		err = launcher.wait(waitCtx)
		cancel()
		if err == nil {
			launcher.release()
			return removeStale(ctx, b.stateDir())
		}
		if ctx.Err() != nil {
			break
		}
	}
	return fmt.Errorf("wait for the end of process %d: %w", pid, err)
}

var shellSafe = regexp.MustCompile(`^[A-Za-z0-9_./+:@%,=-]+$`)

// shellQuote quotes text as one word of a shell command.
func shellQuote(text string) string {
	if shellSafe.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
