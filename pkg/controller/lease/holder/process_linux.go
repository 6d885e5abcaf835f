package holder

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Machine returns an ID of this machine's current boot and the PID namespace, so that two
// containers on one machine differ. It returns "" if the ID cannot be read.
func Machine() string {
	boot, bootErr := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, spaceErr := os.Readlink("/proc/self/ns/pid")
	if bootErr != nil || spaceErr != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + "/" + space
}

// Alive reports whether a process on this machine is running. A zombie is not running. If another
// process has reused the PID, Alive returns true, and the lease has to expire.
func Alive(pid int) bool {
	if syscall.Kill(pid, 0) == syscall.ESRCH {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	// The program name may contain any character; the state follows it.
	_, state, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}
