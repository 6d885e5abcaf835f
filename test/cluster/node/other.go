//go:build !linux

package node

import (
	"context"
	"errors"
)

var errNotLinux = errors.New("a real node needs Linux: run this in a virtual machine with Linux")

// Check says what is missing on this machine to run a node.
func Check() error { return errNotLinux }

// Run runs the node of a directory, on Linux.
func Run(context.Context, string, []string, []string) error { return errNotLinux }

// RunInside runs the node of a directory in its namespaces, on Linux.
func RunInside(string) error { return errNotLinux }

// CleanUp removes what a node leaves behind, on Linux.
func CleanUp(string) error { return errNotLinux }

// RemoveCgroups removes the cgroups of a node that has ended, on Linux.
func RemoveCgroups(string) error { return nil }
