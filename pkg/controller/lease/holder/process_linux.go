package holder

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Machine is this start of this machine together with the space in which a
// process number means something: two containers on a machine have two.
func Machine() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + "/" + space
}

// Alive reports whether a process of this machine runs. One that ran under the
// same number before cannot be told apart: the lease is waited for then. One that
// has ended and that nobody has asked for yet, a zombie, runs no more.
func Alive(pid int) bool {
	return syscall.Kill(pid, 0) != syscall.ESRCH && !ended(pid)
}

// ended reports whether a process is known to be a zombie.
func ended(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	// The name of the program may hold anything; the state comes behind it.
	_, state, found := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	return found && (strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X"))
}
