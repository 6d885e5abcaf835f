//go:build !linux

package main

import (
	"errors"
	"os/exec"
	"strconv"
	"syscall"
)

// endWithParent does nothing: only Linux can end a process with its parent.
// Elsewhere the next launcher ends what one that was killed has left behind.
func endWithParent(*syscall.SysProcAttr) {}

// commandLine returns the command line of a process, which is empty if there is
// no such process.
func commandLine(pid int) (string, error) {
	output, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "", nil // that is how ps says that there is none
	}
	return string(output), err
}
