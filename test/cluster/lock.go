package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// fileLock is an advisory lock that the kernel releases when its holder ends, no
// matter how. Therefore, unlike a recorded process id, it never lies about
// whether its holder is alive.
type fileLock struct {
	file *os.File
}

// openLock opens the file of a lock without taking the lock.
func openLock(path string, flag int) (*fileLock, error) {
	file, err := os.OpenFile(path, flag|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return &fileLock{file: file}, nil
}

// try takes the lock if nobody else holds it and says whether it did.
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

// wait takes the lock as soon as nobody else holds it.
func (l *fileLock) wait(ctx context.Context) error {
	return poll(ctx, func(context.Context) (bool, error) { return l.try() })
}

// release gives up the lock if it is held.
func (l *fileLock) release() {
	l.file.Close()
}

const pollInterval = 50 * time.Millisecond

// poll calls condition until it says true, it fails or ctx ends.
func poll(ctx context.Context, condition func(context.Context) (bool, error)) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		done, err := condition(ctx)
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}
