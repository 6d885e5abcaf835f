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

// Run runs the node with the configuration in dir until ctx is done. It starts this program twice.
// A program with the arguments of inside must call RunInside, and a program with the arguments of
// cleanUp must call CleanUp.
func Run(ctx context.Context, dir string, inside, cleanUp []string) (err error) {
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
	// Wait for the cleanup of a killed node in this directory. It would remove the new cgroups, too.
	lock, err := lockCgroups(dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	// Remove the cgroups of a killed node, so that the new kubelet does not find them.
	if err := h.remove(cgroup(dir)); err != nil {
		return err
	}
	finish, err := startCleanUp(self, cleanUp, lock)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, finish()) }()
	if err := h.create(cgroup(dir)); err != nil {
		return err
	}
	if err := relay("unix", filepath.Join(dir, apiSocket), "tcp", c.API); err != nil {
		return fmt.Errorf("relay to the API server: %w", err)
	}
	if err := relay("tcp", c.Kubelet, "unix", filepath.Join(dir, kubeletSocket)); err != nil {
		return fmt.Errorf("relay to the kubelet: %w", err)
	}

	cmd := exec.Command(self, inside...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Setsid: true, Pdeathsig: syscall.SIGKILL}
	// Keep this thread. The kernel kills the process when the thread that started it exits.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("create the namespaces of the node: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		return fmt.Errorf("the node has exited: %w", err)
	case <-ctx.Done():
		// This makes the kernel kill all processes in the namespaces, too.
		_ = cmd.Process.Kill()
		<-done
		return nil
	}
}

// lockCgroups waits until no other node or cleanup uses the cgroups of the directory, and returns
// the locked file. The lock is held while any process has the file open.
func lockCgroups(dir string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(dir, "cgroups.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the cgroups of the node: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock the cgroups of the node: %w", err), lock.Close())
	}
	return lock, nil
}

// startCleanUp starts a cleanup process, which removes the cgroups when this process exits or is
// killed. The cleanup process holds the lock until it exits. finish makes it remove the cgroups
// immediately, and waits for its exit.
func startCleanUp(self string, args []string, lock *os.File) (finish func() error, err error) {
	cmd := exec.Command(self, args...)
	cmd.ExtraFiles = []*os.File{lock}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the cleanup of the node: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the cleanup of the node: %w", err)
	}
	return func() error {
		_ = pipe.Close()
		return cmd.Wait()
	}, nil
}

// CleanUp waits until stdin is closed, which means that the node has exited. Then it removes the
// cgroups of the node.
func CleanUp(dir string) error {
	var buffer [1]byte
	for {
		if _, err := os.Stdin.Read(buffer[:]); err != nil {
			break
		}
	}
	return RemoveCgroups(dir)
}

// RemoveCgroups removes the cgroups of a node that has exited.
func RemoveCgroups(dir string) error {
	h, err := findHierarchies()
	if err != nil {
		return err
	}
	return h.remove(cgroup(dir))
}
