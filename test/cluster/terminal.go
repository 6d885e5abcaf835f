package main

import (
	"os"
	"syscall"
	"unsafe"
)

// inForeground reports whether stdin is a terminal whose foreground process group
// is the group of the launcher.
func inForeground() bool {
	var group int32
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, os.Stdin.Fd(), syscall.TIOCGPGRP, uintptr(unsafe.Pointer(&group))) //nolint:gosec // the standard library has no other way to ask
	return errno == 0 && int(group) == syscall.Getpgrp()
}
