//go:build !linux

package node

import (
	"context"
	"errors"
)

var errNotLinux = errors.New("a real node needs Linux: run this in a virtual machine with Linux")

// Check returns an error, because a node needs Linux.
func Check() error { return errNotLinux }

// Run returns an error, because a node needs Linux.
func Run(context.Context, string, []string) error { return errNotLinux }

// RunInside returns an error, because a node needs Linux.
func RunInside(string) error { return errNotLinux }

// RemoveCgroups does nothing, because there are no cgroups.
func RemoveCgroups(string) error { return nil }
