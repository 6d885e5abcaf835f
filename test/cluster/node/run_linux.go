package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

const namespaces = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS

// The Unix sockets between a node and the loopback of the host.
const (
	apiSocket     = "api.sock"
	kubeletSocket = "kubelet.sock"
)

// Run runs the node with the configuration in dir until ctx is done. It starts this program again
// with the given arguments, which must make it call RunInside.
func Run(ctx context.Context, dir string, inside []string) (err error) {
	c, err := readConfig(dir)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program of the node: %w", err)
	}
	h, err := findHierarchies()
	if err != nil {
		return fmt.Errorf("find the cgroups: %w", err)
	}
	// Remove the cgroups of a killed node, so that the new kubelet does not find them.
	if err := h.remove(cgroup(dir)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.remove(cgroup(dir))) }()
	if err := h.create(cgroup(dir)); err != nil {
		return err
	}
	if err := relay("unix", filepath.Join(dir, apiSocket), "tcp", c.API); err != nil {
		return fmt.Errorf("relay to the API server: %w", err)
	}
	if err := relay("tcp", c.Kubelet, "unix", filepath.Join(dir, kubeletSocket)); err != nil {
		return fmt.Errorf("relay to the kubelet: %w", err)
	}

	cmd := exec.CommandContext(ctx, self, inside...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Setsid: true, Pdeathsig: syscall.SIGKILL}
	// Keep this thread. The kernel kills the process when the thread that started it exits.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = cmd.Run()
	if ctx.Err() != nil {
		return nil // killed on purpose
	}
	return fmt.Errorf("the node has exited: %w", err)
}

// RemoveCgroups removes the cgroups of a node that was killed.
func RemoveCgroups(dir string) error {
	h, err := findHierarchies()
	if err != nil {
		return err
	}
	return h.remove(cgroup(dir))
}
