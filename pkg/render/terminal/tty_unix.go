//go:build unix

package terminal

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/moby/term"
	"golang.org/x/sys/unix"
)

// disableEcho disables the echo of a terminal until restore is called. In a background process, such
// as a command under "timeout", it does nothing, because the process would be stopped.
func disableEcho(terminal *os.File) (restore func()) {
	restore = func() {}
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	if err != nil || group != unix.Getpgrp() {
		return restore
	}
	before, err := term.SaveState(terminal.Fd())
	if err != nil || term.DisableEcho(terminal.Fd(), before) != nil {
		return restore
	}
	return func() { _ = term.RestoreTerminal(terminal.Fd(), before) }
}

// suspensions returns a channel of Ctrl-Z signals, which have no other effect until stop is called.
func suspensions() (stops <-chan os.Signal, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTSTP)
	return signals, func() { signal.Stop(signals) }
}

// suspend stops this process until it receives SIGCONT.
func suspend() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if syscall.Kill(os.Getpid(), syscall.SIGSTOP) == nil {
		<-continued // Kill may return before this thread stops
	}
}
