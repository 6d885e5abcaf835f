// Command runc stands in for a runc that was built without libseccomp, which is
// no Go module: it takes the seccomp profile out of a container, which such a
// runc refuses, and becomes the runc that lies beside it as runc.real.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "runc:", err)
		os.Exit(1)
	}
}

func run() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for i, arg := range os.Args {
		bundle, found := strings.CutPrefix(arg, "--bundle=")
		if arg == "--bundle" && i+1 < len(os.Args) {
			bundle, found = os.Args[i+1], true
		}
		if !found {
			continue
		}
		if err := removeProfile(filepath.Join(bundle, "config.json")); err != nil {
			return fmt.Errorf("take the seccomp profile out of a container: %w", err)
		}
	}
	return syscall.Exec(self+".real", os.Args, os.Environ())
}

// removeProfile takes the seccomp profile out of the description of a container.
func removeProfile(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var spec, linux map[string]json.RawMessage
	if err := json.Unmarshal(data, &spec); err != nil {
		return err
	}
	if err := json.Unmarshal(spec["linux"], &linux); err != nil {
		return err
	}
	delete(linux, "seccomp")
	if spec["linux"], err = json.Marshal(linux); err != nil {
		return err
	}
	if data, err = json.Marshal(spec); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}
