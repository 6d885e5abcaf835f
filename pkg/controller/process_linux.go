package controller

import (
	"os"
	"strings"
	"syscall"
)

// machine is this start of this machine together with the space in which a
// process number means something: two containers on a machine have two.
func machine() string {
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

// alive says whether a process of this machine runs. One that ran under the
// same number before cannot be told apart: the lease is waited for then.
func alive(pid int) bool { return syscall.Kill(pid, 0) != syscall.ESRCH }
