package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	cgroupRoot = "/sys/fs/cgroup"
	// cgroup2Magic identifies a cgroup v2 file system (linux/magic.h).
	cgroup2Magic = 0x63677270
)

// neededControllers returns the cgroup controllers that the kubelet requires. It omits the devices
// controller, which exists only in version 1.
func neededControllers() []string { return []string{"cpu", "cpuset", "memory", "pids"} }

// hierarchies holds the roots of the cgroup trees. Version 1 has several trees, each for one or more
// controllers. Version 2 has a single tree.
type hierarchies struct {
	roots []string
	v2    bool
}

func findHierarchies() (hierarchies, error) {
	var system syscall.Statfs_t
	if err := syscall.Statfs(cgroupRoot, &system); err != nil {
		return hierarchies{}, fmt.Errorf("there are no cgroups at %s: %w", cgroupRoot, err)
	}
	if system.Type == cgroup2Magic {
		return hierarchies{roots: []string{cgroupRoot}, v2: true}, nil
	}
	entries, err := os.ReadDir(cgroupRoot)
	if err != nil {
		return hierarchies{}, err
	}
	var h hierarchies
	for _, entry := range entries {
		if entry.IsDir() { // skip symbolic links to other hierarchies
			h.roots = append(h.roots, filepath.Join(cgroupRoot, entry.Name()))
		}
	}
	return h, nil
}

func (h hierarchies) missing() ([]string, error) {
	var have []string
	if h.v2 {
		data, err := os.ReadFile(filepath.Join(cgroupRoot, "cgroup.controllers"))
		if err != nil {
			return nil, err
		}
		have = strings.Fields(string(data))
	}
	for _, root := range h.roots {
		have = append(have, strings.Split(filepath.Base(root), ",")...)
	}
	return slices.DeleteFunc(neededControllers(), func(c string) bool { return slices.Contains(have, c) }), nil
}

// create creates a cgroup in each hierarchy if it does not exist, and enables its controllers.
func (h hierarchies) create(name string) error {
	if h.v2 {
		if err := delegate(cgroupRoot); err != nil {
			return err
		}
	}
	for _, root := range h.roots {
		dir := root + name
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("create a cgroup: %w", err)
		}
		if h.v2 {
			if err := delegate(dir); err != nil {
				return err
			}
			continue
		}
		// A new cgroup of version 1 has no CPUs and no memory nodes, so copy them from the root.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			data, err := os.ReadFile(filepath.Join(root, file))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, file), data, 0o644)
			}
			if err != nil {
				return fmt.Errorf("set up a cgroup: %w", err)
			}
		}
	}
	return nil
}

// delegate enables the controllers of a v2 cgroup for its children.
func delegate(dir string) error {
	control := filepath.Join(dir, "cgroup.subtree_control")
	data, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("read the controllers of a cgroup: %w", err)
	}
	set, err := os.ReadFile(control)
	if err != nil {
		return fmt.Errorf("read the controllers of a cgroup: %w", err)
	}
	for controller := range strings.FieldsSeq(string(data)) {
		if slices.Contains(strings.Fields(string(set)), controller) {
			continue
		}
		err := os.WriteFile(control, []byte("+"+controller), 0o644)
		switch {
		case err == nil || !slices.Contains(neededControllers(), controller):
		case errors.Is(err, syscall.EBUSY):
			return fmt.Errorf("the cgroup at %s has processes of its own, so that none below it can be limited: run this where %[1]s is the root of all cgroups, which it is outside of containers", dir)
		default:
			return fmt.Errorf("let a cgroup have the controller %s: %w", controller, err)
		}
	}
	return nil
}

// remove removes a cgroup and its descendants from each hierarchy. It waits up to 30 seconds for the
// processes in each cgroup to exit.
func (h hierarchies) remove(name string) error {
	const patience, interval = 30 * time.Second, 20 * time.Millisecond
	var errs []error
	for _, root := range h.roots {
		var dirs []string
		err := filepath.WalkDir(root+name, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				dirs = append(dirs, path)
			}
			return nil // an error means that the directory was already removed
		})
		errs = append(errs, err)
		// Remove children before their parents.
		for _, dir := range slices.Backward(dirs) {
			err := os.Remove(dir)
			for end := time.Now().Add(patience); errors.Is(err, syscall.EBUSY) && time.Now().Before(end); err = os.Remove(dir) {
				<-time.After(interval)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, fmt.Errorf("remove a cgroup: %w", err))
			}
		}
	}
	return errors.Join(errs...)
}
