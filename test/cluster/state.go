package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tempPrefix is the prefix of temporary state directories. Later launchers use it to find stale
// directories.
const tempPrefix = "imoocpod-cluster-"

const (
	lockName  = "launcher.lock" // locked by the launcher, contains its process ID
	readyName = "ready.json"    // contains the endpoint, exists if the control plane is ready
	pidSuffix = ".pid"          // contains the process ID of a component
)

// stateDir is the directory of one control plane. It belongs to the launcher that holds its lock.
// The components stop with this launcher.
type stateDir struct {
	path string
	lock *fileLock
}

// endpoint describes how to connect to a running control plane.
type endpoint struct {
	Kubeconfig string `json:"kubeconfig"`
	Bin        string `json:"bin"`
	Dir        string `json:"dir"`
	AuditLog   string `json:"auditLog"`
}

// claimStateDir makes path the state directory of this launcher, or a new temporary directory if path
// is empty. It cleans up after killed launchers.
func claimStateDir(ctx context.Context, path string) (*stateDir, error) {
	if path == "" {
		if err := removeStaleTemporaries(ctx); err != nil {
			return nil, err
		}
		path, err := os.MkdirTemp("", tempPrefix)
		if err != nil {
			return nil, fmt.Errorf("create a state directory: %w", err)
		}
		return lockStateDir(path)
	}

	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("resolve the state directory: %w", err)
	}
	if err := removeStale(ctx, path); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("create the state directory: %w", err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("read the state directory: %w", err)
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("state directory %s is not empty", path)
	}
	return lockStateDir(path)
}

func lockStateDir(path string) (*stateDir, error) {
	// Lock the file before it gets its final name. Otherwise, another launcher could treat the
	// directory as stale.
	temporary := filepath.Join(path, lockName+".new")
	lock, err := openLock(temporary, os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("create the lock of the state directory: %w", err)
	}
	free, err := lock.try()
	if err == nil && !free {
		err = fs.ErrExist
	}
	if err == nil {
		_, err = lock.file.WriteString(strconv.Itoa(os.Getpid()) + "\n")
	}
	if err == nil {
		err = os.Link(temporary, filepath.Join(path, lockName))
	}
	if err == nil {
		err = os.Remove(temporary)
	}
	if err != nil {
		lock.release()
		if errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("state directory %s has just come into use", path)
		}
		return nil, fmt.Errorf("lock the state directory: %w", err)
	}
	return &stateDir{path: path, lock: lock}, nil
}

func (s *stateDir) file(name string) string { return filepath.Join(s.path, name) }

// announce writes the endpoint atomically. For other processes, the file means that the control
// plane is ready.
func (s *stateDir) announce(e endpoint) error {
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode the endpoint: %w", err)
	}
	temporary := s.file(readyName + ".new")
	if err := os.WriteFile(temporary, data, 0o600); err != nil {
		return fmt.Errorf("write the endpoint: %w", err)
	}
	if err := os.Rename(temporary, s.file(readyName)); err != nil {
		return fmt.Errorf("write the endpoint: %w", err)
	}
	return nil
}

// release releases the directory, and removes it unless keep is set. All components must have stopped.
func (s *stateDir) release(keep bool) error {
	defer s.lock.release()
	if !keep {
		if err := os.RemoveAll(s.path); err != nil {
			return fmt.Errorf("remove the state directory: %w", err)
		}
		return nil
	}
	// A kept directory must not look stale.
	for _, name := range []string{readyName, lockName} {
		if err := os.Remove(s.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("release the state directory: %w", err)
		}
	}
	return nil
}

type inUseError struct {
	path string
	pid  int
}

func (e *inUseError) Error() string {
	return fmt.Sprintf("state directory %s is in use by process %d", e.path, e.pid)
}

// openStateLock opens the lock of a state directory, and acquires it if it is free. free is true if
// this process now holds the lock. lock is nil if the lock file does not exist.
func openStateLock(path string) (lock *fileLock, free bool, err error) {
	name := filepath.Join(path, lockName)
	lock, err = openLock(name, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("look for a launcher: %w", err)
	}
	free, err = lock.try()
	if err == nil && free {
		// Another launcher may have removed or replaced the directory in the meantime.
		var opened, named os.FileInfo
		if opened, err = lock.file.Stat(); err == nil {
			named, err = os.Stat(name)
		}
		if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(opened, named) {
			lock.release()
			return nil, false, nil
		}
	}
	if err != nil {
		lock.release()
		return nil, false, fmt.Errorf("look for a launcher: %w", err)
	}
	return lock, free, nil
}

// removeStale stops the remaining components of a dead launcher, and removes its state directory.
// It returns an inUseError if the launcher is running. Without a lock file, it does nothing.
func removeStale(ctx context.Context, path string) error {
	lock, free, err := openStateLock(path)
	if lock == nil {
		return err
	}
	defer lock.release()
	if !free {
		pid, err := readPid(lock.file.Name())
		if err != nil {
			return err
		}
		return &inUseError{path: path, pid: pid}
	}

	// On Linux, the kernel kills the components when their launcher dies. Elsewhere, they can remain.
	pidFiles, err := filepath.Glob(filepath.Join(path, "*"+pidSuffix))
	if err != nil {
		return fmt.Errorf("look for components: %w", err)
	}
	for _, file := range pidFiles {
		pid, err := readPid(file)
		if err != nil {
			return err
		}
		if err := endStray(ctx, pid, path); err != nil {
			return err
		}
	}
	if err := removeCgroupsOfStale(path); err != nil {
		return err
	}
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("remove the state directory of a dead launcher: %w", err)
	}
	return nil
}

// endStray stops a process if it is a component of the state directory. Process IDs are reused, so
// endStray checks the command line, which contains the directory for every component.
func endStray(ctx context.Context, pid int, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	err := poll(ctx, func(context.Context) (bool, error) {
		command, err := commandLine(pid)
		if err != nil {
			return false, err
		}
		if !strings.Contains(command, dir+string(filepath.Separator)) {
			return true, nil
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return false, err
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("end process %d, which a dead launcher left behind: %w", pid, err)
	}
	return nil
}

func removeStaleTemporaries(ctx context.Context) error {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), tempPrefix+"*"))
	if err != nil {
		return fmt.Errorf("look for old state directories: %w", err)
	}
	for _, dir := range dirs {
		err := removeStale(ctx, dir)
		var inUse *inUseError
		// Directories that this user cannot access belong to other users.
		if err != nil && !errors.As(err, &inUse) && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

func readPid(path string) (int, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("read a process id: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0, fmt.Errorf("read a process id from %s: %w", path, err)
	}
	return pid, nil
}
