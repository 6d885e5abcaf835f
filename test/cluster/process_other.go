//go:build !linux

package main

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
)

// endWithParent does nothing. It is implemented only for Linux.
func endWithParent(*syscall.SysProcAttr, syscall.Signal) {}

// endComponents kills the components of a killed launcher. Their command lines contain dir, its state directory.
func endComponents(dir string) error {
	err := exec.Command("pkill", "-KILL", "-f", regexp.QuoteMeta(dir+string(filepath.Separator))).Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return nil // no component is left
	}
	if err != nil {
		return fmt.Errorf("end the components in %s: %w", dir, err)
	}
	return nil
}
