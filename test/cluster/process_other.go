//go:build !linux

package main

import (
	"errors"
	"os/exec"
	"strconv"
	"syscall"
)

// endWithParent does nothing, because only Linux can kill a process with its parent. On other
// systems, the next launcher stops the processes of a killed launcher.
func endWithParent(*syscall.SysProcAttr) {}

// commandLine returns the command line of a process, or "" if the process does not exist.
func commandLine(pid int) (string, error) {
	output, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "", nil // ps fails if the process does not exist
	}
	return string(output), err
}
