package node

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// overlayMagic identifies overlayfs (linux/magic.h), which cannot hold the upper layers of another overlayfs.
const overlayMagic = 0x794c7630

// RunInside runs the node with the configuration in dir as process 1 of the node's namespaces. It
// returns only on an error, for example if one of the node's programs exits.
func RunInside(dir string) error {
	c, err := readConfig(dir)
	if err != nil {
		return err
	}
	l := layout{Config: c, dir: dir, snapshotter: "overlayfs"}
	var system syscall.Statfs_t
	if err := syscall.Statfs(dir, &system); err == nil && system.Type == overlayMagic {
		l.snapshotter = "native"
	}
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"name the node", func() error { return syscall.Sethostname([]byte(c.Name)) }},
		{"write its files", l.writeFiles},
		{"set up its mounts", l.mount},
		{"set up its network", func() error { return setUpLoopback(c.ServiceIP) }},
		{"relay to the API server", func() error { return relay("tcp", c.API, "unix", l.file(apiSocket)) }},
		{"relay pods to the API server", func() error {
			return relay("tcp", net.JoinHostPort(c.ServiceIP, "443"), "unix", l.file(apiSocket))
		}},
		{"relay to the kubelet", func() error { return relay("unix", l.file(kubeletSocket), "tcp", c.Kubelet) }},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	failed := make(chan error, 1)
	go func() { failed <- fmt.Errorf("serve the images: %w", registry{c.Images}.serve(registryAddress)) }()

	children := children{}
	if err := children.start(l, filepath.Join(c.Bin, "containerd"), "--config="+l.file("containerd.toml")); err != nil {
		return err
	}
	if err := awaitSocket(containerdSocket); err != nil {
		return fmt.Errorf("wait for containerd: %w\n%s", err, LogTail(l.logFile("containerd")))
	}
	if err := children.start(l, filepath.Join(c.Bin, "kubelet"), append([]string{
		"--config=" + l.file("kubelet.json"),
		"--kubeconfig=" + l.file(Kubeconfig),
		"--cert-dir=" + l.file("var", "lib", "kubelet", "pki"),
		"--hostname-override=" + c.Name,
		// With an external cloud provider, the kubelet does not detect the addresses of the node.
		// Otherwise, it would reject loopback addresses.
		"--cloud-provider=external",
		"--v=2",
	}, c.KubeletArgs...)...); err != nil {
		return err
	}
	go func() { failed <- children.wait(l) }()
	return <-failed
}

func (l layout) mount() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	bind := map[string]string{l.file("var", "lib"): "/var/lib", l.file("var", "log"): "/var/log"}
	for _, dir := range []string{l.file("var", "lib"), l.file("var", "log")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for setting := range settings() {
		bind[l.settingFile(setting)] = filepath.Join("/proc/sys", setting)
	}
	for from, to := range bind {
		if err := syscall.Mount(from, to, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("%s: %w", to, err)
		}
	}
	// Propagate the mounts of volumes to the mount namespaces of the containers.
	return syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SHARED, "")
}

func (l layout) logFile(program string) string { return l.file(program + ".log") }

// children holds the names of the node's programs by process ID.
type children map[int]string

func (c children) start(l layout, path string, args ...string) error {
	name := filepath.Base(path)
	log, err := os.OpenFile(l.logFile(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of %s: %w", name, err)
	}
	defer log.Close()
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = []string{"PATH=" + l.Bin + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/run"}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	c[cmd.Process.Pid] = name
	return nil
}

// wait waits until one of the programs exits, and returns an error for it. It also reaps orphans,
// because this process has PID 1.
func (c children) wait(l layout) error {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("wait for the programs of the node: %w", err)
		}
		if name, ours := c[pid]; ours {
			return fmt.Errorf("%s ended (exit code %d, signal %d), the end of its log is:\n%s", name, status.ExitStatus(), status.Signal(), LogTail(l.logFile(name)))
		}
	}
}

func awaitSocket(path string) error {
	const patience, interval = time.Minute, 20 * time.Millisecond
	timeout := time.After(patience)
	for {
		connection, err := net.Dial("unix", path)
		if err == nil {
			return connection.Close()
		}
		select {
		case <-timeout:
			return err
		case <-time.After(interval):
		}
	}
}
