package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// statePrefix is the prefix of state directories. Later launchers use it to find stale directories.
const statePrefix = "imoocpod-plane-"

// stateDir is the directory of one control plane. The launcher, which is the process that runs the control plane,
// locks the directory until the process exits, so an unlocked directory is stale.
type stateDir struct {
	path string
	lock *fileLock
}

// newStateDir cleans up after killed launchers, and creates a state directory.
func newStateDir() (*stateDir, error) {
	if err := removeStale(); err != nil {
		return nil, err
	}
	path, err := os.MkdirTemp("", statePrefix)
	if err != nil {
		return nil, fmt.Errorf("create a state directory: %w", err)
	}
	lock, err := openLock(path, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("lock the state directory: %w", err)
	}
	if _, err := lock.try(); err != nil {
		return nil, err
	}
	return &stateDir{path: path, lock: lock}, nil
}

// remove removes the directory. All components must have stopped.
func (s *stateDir) remove() error {
	defer s.lock.release()
	return removeState(s.path)
}

// removeStale stops the remaining components of killed launchers, and removes their state directories.
func removeStale() error {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), statePrefix+"*"))
	if err != nil {
		return fmt.Errorf("look for old state directories: %w", err)
	}
	for _, dir := range dirs {
		// Skip an empty directory, whose launcher might not have locked it yet, and the directories
		// of other users, which cannot be read.
		if entries, err := os.ReadDir(dir); err != nil || len(entries) == 0 {
			continue
		}
		if err := removeIfStale(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("clean up after a killed launcher: %w", err)
		}
	}
	return nil
}

func removeIfStale(dir string) error {
	lock, err := openLock(dir, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer lock.release()
	if free, err := lock.try(); err != nil || !free {
		return err
	}
	if err := endComponents(dir); err != nil {
		return err
	}
	return removeState(dir)
}

// removeState removes a state directory, and the cgroups that real nodes have left.
func removeState(dir string) error {
	if err := removeCgroups(dir); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}
