package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// readModule returns the programs that the module in a directory declares as tools. The module itself
// can be a tool, which replaces an upstream command that cannot run here.
func readModule(dir string) (programSet, error) {
	m := module{sources: map[string][]byte{}, ldflags: "-s -w"}
	for name, at := range map[string]*string{"go.mod": &m.goMod, "go.sum": &m.goSum} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return programSet{}, fmt.Errorf("read the module to build: %w", err)
		}
		*at = string(content)
	}
	sources, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return programSet{}, fmt.Errorf("read the module to build: %w", err)
	}
	for _, path := range sources {
		content, err := os.ReadFile(path)
		if err != nil {
			return programSet{}, fmt.Errorf("read the module to build: %w", err)
		}
		m.sources[filepath.Base(path)] = content
	}
	m.programs, err = tools(dir)
	return programSet{what: "the tools of " + filepath.Base(dir), duration: "4 minutes", modules: []module{m}}, err
}

// tools returns the programs that a module declares as tools, named after the last
// element of their paths.
func tools(dir string) ([]program, error) {
	cmd := exec.Command("go", "-C", dir, "mod", "edit", "-json")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("read the tools of %s: %w", dir, err)
	}
	var read struct{ Tool []struct{ Path string } }
	if err := json.Unmarshal(out, &read); err != nil {
		return nil, fmt.Errorf("read the tools of %s: %w", dir, err)
	}
	var all []program
	for _, tool := range read.Tool {
		all = append(all, program{name: filepath.Base(tool.Path), importPath: tool.Path, duration: "4 minutes"})
	}
	if len(all) == 0 {
		return nil, errors.New("the module in " + dir + " has no tools")
	}
	return all, nil
}
