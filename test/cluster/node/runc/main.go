// Command runc wraps runc.real, which is built without the C library libseccomp and
// rejects seccomp profiles. The command removes the seccomp profile of a container,
// and executes runc.real, which is in the same directory as the command.
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
			return fmt.Errorf("remove the seccomp profile of a container: %w", err)
		}
	}
	return syscall.Exec(self+".real", os.Args, os.Environ())
}

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
