package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// fileLock is an advisory lock of a file or a directory. Unlike a recorded process ID, it is never
// stale, because the kernel releases it when its holder exits.
type fileLock struct {
	file *os.File
}

// openLock opens a file or a directory without locking it.
func openLock(path string, flag int) (*fileLock, error) {
	file, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, err
	}
	return &fileLock{file: file}, nil
}

// try acquires the lock if it is free, and reports whether it did.
func (l *fileLock) try() (bool, error) {
	err := syscall.Flock(int(l.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", l.file.Name(), err)
	}
	return true, nil
}

func (l *fileLock) wait(ctx context.Context) error {
	return wait.PollUntilContextCancel(ctx, pollInterval, true, func(context.Context) (bool, error) { return l.try() })
}

// release closes the file. This releases the lock, unless a child process has inherited the file.
func (l *fileLock) release() {
	l.file.Close()
}

const pollInterval = 50 * time.Millisecond
