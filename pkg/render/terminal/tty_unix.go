//go:build unix

package terminal

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/moby/term"
	"golang.org/x/sys/unix"
)

// disableEcho keeps a terminal from echoing what is typed, until restore is called. A
// program in the background leaves it alone: it would be stopped for that, also
// where nobody put it there but "timeout".
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

// suspensions tells of each Ctrl-Z, which then does nothing by itself.
func suspensions() (told <-chan os.Signal, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTSTP)
	return signals, func() { signal.Stop(signals) }
}

// suspend stops this process until somebody continues it.
func suspend() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if syscall.Kill(os.Getpid(), syscall.SIGSTOP) == nil {
		<-continued // until the signal reaches all threads, this one goes on
	}
}
