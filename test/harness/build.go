package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
)

// buildPlugin builds the plugin into PluginDir.
func (c *Cluster) buildPlugin(root string, race bool) error {
	output := filepath.Join(c.PluginDir, program)
	if race {
		return build(root, filepath.Join(root, "bin/race", program), output, "./cmd/kubectl-imoocpod", "-race", "-ldflags=-s -w")
	}
	return build(root, filepath.Join(root, "bin/test", program), output, "./cmd/kubectl-imoocpod", "-trimpath", "-ldflags=-s -w")
}

// buildLauncher builds the program in test/cluster, like "make bin/cluster".
func buildLauncher(root, output string) error {
	return build(filepath.Join(root, "test/cluster"), filepath.Join(root, "bin/cluster"), output, ".", "-trimpath")
}

// build builds a program into a file that is kept between test runs, so that Go links it only after
// a change. Then it copies the file to output, because builds of other test runs can replace the file.
func build(module, file, output, pkg string, flags ...string) error {
	file, err := filepath.Abs(file)
	if err != nil {
		return fmt.Errorf("build %s: %w", pkg, err)
	}
	for _, dir := range []string{filepath.Dir(file), filepath.Dir(output)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("build %s: %w", pkg, err)
		}
	}
	// The packages of a test run start at the same time, but only one of them should link.
	unlock, err := lock(file + ".lock")
	if err != nil {
		return fmt.Errorf("build %s: %w", pkg, err)
	}
	defer unlock()
	compile := exec.Command("go", append(append([]string{"build", "-C", module, "-o", file}, flags...), pkg)...)
	if !slices.Contains(flags, "-race") {
		compile.Env = append(os.Environ(), "CGO_ENABLED=0")
	}
	// Copy in a separate process. Otherwise, a child process could inherit the open file, and a
	// program that is open for writing cannot be executed.
	for _, cmd := range []*exec.Cmd{compile, exec.Command("cp", file, output)} {
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
		}
	}
	return nil
}

// lock waits until no other process holds the lock on a file, and acquires it.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	unlock = func() { _ = file.Close() }
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		unlock()
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return unlock, nil
}
