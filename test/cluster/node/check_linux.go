package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
)

// Check returns an error that explains why a node cannot run on this machine, or nil if it can.
func Check() error {
	if os.Geteuid() != 0 {
		return errors.New("a real node needs root, because containers need namespaces, mounts and cgroups: run this with sudo, or as root")
	}
	if _, err := exec.LookPath("mount"); err != nil {
		return errors.New("a real node needs the program mount, which the kubelet calls: install the package mount or util-linux")
	}
	h, err := findHierarchies()
	if err != nil {
		return fmt.Errorf("a real node needs cgroups: %w; mount them, or run this outside of a container", err)
	}
	missing, err := h.missing()
	if err != nil {
		return fmt.Errorf("a real node needs cgroups: %w", err)
	}
	if len(missing) > 0 {
		return fmt.Errorf("a real node needs the cgroup controllers %s, which are not at %s: enable them in the kernel, or run this outside of a container", strings.Join(missing, ", "), cgroupRoot)
	}
	probe := fmt.Sprintf("/imoocpod-node-check-%d", os.Getpid())
	err = h.create(probe)
	if err = errors.Join(err, h.remove(probe)); err != nil {
		return fmt.Errorf("a real node needs cgroups of its own: %w; start a container with --privileged", err)
	}
	return checkNamespaces()
}

// checkNamespaces returns an error if this process cannot create the namespaces of a node, or cannot
// mount file systems in them.
func checkNamespaces() error {
	cmd := exec.Command("mount", "-t", "tmpfs", "tmpfs", "/run")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Unshareflags: syscall.CLONE_NEWNS}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if output, err := cmd.CombinedOutput(); err != nil {
		said := strings.TrimSpace(strings.Join([]string{err.Error(), string(output)}, " "))
		return fmt.Errorf("a real node needs namespaces, and mounts in them: %s; start a container with --privileged", said)
	}
	return nil
}
