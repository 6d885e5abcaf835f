package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// readModule returns the build of the tools of the module in a directory. A tool
// may be the module's own command: so a program whose command does what cannot be
// done here gets another one.
func readModule(dir string) (build, error) {
	b := build{
		what: "the tools of " + filepath.Base(dir), sources: map[string]string{},
		args: []string{"-trimpath", "-buildvcs=false", "-ldflags", "-s -w"},
	}
	for name, at := range map[string]*string{"go.mod": &b.goMod, "go.sum": &b.goSum} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return b, fmt.Errorf("read the module to build: %w", err)
		}
		*at = string(content)
	}
	sources, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return b, fmt.Errorf("read the module to build: %w", err)
	}
	for _, path := range sources {
		content, err := os.ReadFile(path)
		if err != nil {
			return b, fmt.Errorf("read the module to build: %w", err)
		}
		b.sources[filepath.Base(path)] = string(content)
	}
	b.programs, err = tools(dir)
	return b, err
}

// tools are the programs that a module names as its tools, each by the last word
// of its path.
func tools(dir string) ([]program, error) {
	cmd := exec.Command("go", "-C", dir, "mod", "edit", "-json")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("read the tools of %s: %w", dir, err)
	}
	var module struct{ Tool []struct{ Path string } }
	if err := json.Unmarshal(out, &module); err != nil {
		return nil, fmt.Errorf("read the tools of %s: %w", dir, err)
	}
	var all []program
	for _, tool := range module.Tool {
		all = append(all, program{name: filepath.Base(tool.Path), importPath: tool.Path, duration: "4 minutes"})
	}
	if len(all) == 0 {
		return nil, errors.New("the module in " + dir + " has no tools")
	}
	return all, nil
}
