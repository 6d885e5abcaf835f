package main

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/test/cluster/node"
)

// cacheVariable is the environment variable that overrides the cache directory for the programs.
const cacheVariable = "IMOOCPOD_CLUSTER_CACHE"

// The module files are embedded, so that the launcher can build the programs from any directory.
// The module files for the node programs are not called go.mod and go.sum, because Go does not
// embed files of another module.
var (
	//go:embed go.mod
	goMod string
	//go:embed go.sum
	goSum string
	//go:embed node/programs.mod
	nodeGoMod string
	//go:embed node/programs.sum
	nodeGoSum string
	//go:embed node/runc/main.go
	runcSource []byte
	//go:embed node/container/main.go
	containerSource []byte
)

// program describes how to build a program.
type program struct {
	name, importPath string
	// duration is the approximate time of a first build on two cores, if the earlier programs in
	// the list are already built.
	duration string
	// cgo means that the program needs a C compiler.
	cgo bool
}

// programSet is a set of programs that are built together, once per machine.
type programSet struct {
	// The name of the set in messages, and the approximate duration of a first build on two cores.
	what, duration string
	modules        []module
	// omitted lists the programs that are not built, because they already exist.
	omitted []string
}

// module is a Go module and the programs to build from it.
type module struct {
	goMod, goSum string
	// kubernetes is the version of k8s.io/kubernetes that provides the missing parts of goMod and
	// goSum, or "" if both are complete.
	kubernetes string
	// sources holds additional files by path.
	sources       map[string][]byte
	ldflags, tags string
	programs      []program
}

// kubernetesOfControlPlane returns the Kubernetes programs of a control plane. Each build reuses
// packages from the builds of earlier programs in the list.
func kubernetesOfControlPlane() []program {
	return []program{
		{name: "kube-apiserver", importPath: "k8s.io/kubernetes/cmd/kube-apiserver", duration: "3 minutes"},
		{name: "kube-controller-manager", importPath: "k8s.io/kubernetes/cmd/kube-controller-manager", duration: "1 minute"},
		{name: "kube-scheduler", importPath: "k8s.io/kubernetes/cmd/kube-scheduler", duration: "5 seconds"},
		{name: "kubectl", importPath: "k8s.io/kubernetes/cmd/kubectl", duration: "20 seconds"},
	}
}

// othersOfControlPlane returns the other programs of a control plane. They do not depend on the version of Kubernetes.
func othersOfControlPlane() []program {
	return []program{
		{name: "etcd", importPath: "go.etcd.io/etcd/server/v3", duration: "1 minute"},
		{name: "kwok", importPath: "sigs.k8s.io/kwok/cmd/kwok", duration: "10 seconds"},
	}
}

func kubelet() program {
	return program{name: "kubelet", importPath: "k8s.io/kubernetes/cmd/kubelet", duration: "1 minute"}
}

// controlPlanePrograms returns the programs of a control plane for a version of Kubernetes, except
// the existing programs.
func controlPlanePrograms(version string, existing ...string) programSet {
	m := kubernetesPrograms(version, kubernetesOfControlPlane()...)
	others := module{goMod: goMod, goSum: goSum, ldflags: m.ldflags, programs: othersOfControlPlane()}
	set := programSet{what: "the control plane of Kubernetes " + version, duration: "6 minutes", modules: []module{others, m}, omitted: existing}
	if m.kubernetes == "" { // all are built from the same module files
		m.programs = slices.Concat(others.programs, m.programs)
		set.modules = []module{m}
	}
	for i := range set.modules {
		set.modules[i].programs = slices.DeleteFunc(set.modules[i].programs, func(p program) bool {
			return slices.Contains(existing, p.name)
		})
	}
	return set
}

// nodePrograms returns the programs of a real node. The kubelet is built from the module of the
// control plane, because containerd requires different versions of the Kubernetes modules.
func nodePrograms(version string) programSet {
	return programSet{what: "the programs of a real node", duration: "4 minutes", modules: []module{kubernetesPrograms(version, kubelet()), {
		goMod: nodeGoMod, goSum: nodeGoSum,
		sources: map[string][]byte{"runc/main.go": runcSource, "container/main.go": containerSource},
		ldflags: "-s -w",
		// Omit parts of containerd that need C or that a test node does not need.
		tags: "no_btrfs,no_devmapper,no_zfs,no_aufs,no_erofs,no_blockio,no_rdt,no_tracing",
		programs: []program{
			{name: "containerd", importPath: "github.com/containerd/containerd/v2/cmd/containerd", duration: "2 minutes"},
			{name: "containerd-shim-runc-v2", importPath: "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2", duration: "5 seconds"},
			{name: "bridge", importPath: "github.com/containernetworking/plugins/plugins/main/bridge", duration: "10 seconds"},
			{name: "loopback", importPath: "github.com/containernetworking/plugins/plugins/main/loopback", duration: "5 seconds"},
			{name: "host-local", importPath: "github.com/containernetworking/plugins/plugins/ipam/host-local", duration: "5 seconds"},
			{name: "runc.real", importPath: "github.com/opencontainers/runc", duration: "10 seconds", cgo: true},
			{name: "runc", importPath: "./runc", duration: "5 seconds"},
			{name: node.ContainerProgram, importPath: "./container", duration: "5 seconds"},
		},
	}}}
}

func (s programSet) key() string {
	parts := slices.Clone(s.omitted)
	for _, m := range s.modules {
		parts = append(parts, m.goMod, m.goSum, m.ldflags, m.tags)
		for _, path := range slices.Sorted(maps.Keys(m.sources)) {
			parts = append(parts, path, string(m.sources[path]))
		}
	}
	return cacheKey(append(parts, runtime.GOOS+"/"+runtime.GOARCH+" "+runtime.Version())...)
}

func buildCommand(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("cluster build", flag.ContinueOnError)
	var o options
	o.addBuildFlags(flags)
	nodes := flags.Bool("real-nodes", false, "build the programs of real nodes, too")
	if err := parseAll(flags, args); err != nil {
		return err
	}
	if *nodes {
		o.realNodes = 1
	}
	bin, nodeBin, err := ensureAll(ctx, o)
	if err != nil {
		return err
	}
	fmt.Println(bin)
	if nodeBin != "" {
		fmt.Println(nodeBin)
	}
	return nil
}

func cacheDir() (string, error) {
	if dir := os.Getenv(cacheVariable); dir != "" {
		dir, err := filepath.Abs(dir)
		if err != nil {
			return "", fmt.Errorf("resolve $%s: %w", cacheVariable, err)
		}
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory (set $%s instead): %w", cacheVariable, err)
	}
	return filepath.Join(dir, "kubectl-imoocpod", "cluster"), nil
}

// keyPattern matches the directories of built programs in the cache.
var keyPattern = regexp.MustCompile(`^[0-9a-f]{16}$`)

// cacheKey returns a hash of its arguments, which describe everything that a build depends on.
func cacheKey(parts ...string) string {
	hash := sha256.New()
	for _, part := range parts {
		_, _ = fmt.Fprintf(hash, "%d %s\n", len(part), part) // a hash never fails
	}
	return hex.EncodeToString(hash.Sum(nil))[:16]
}

// linkerFlags returns linker flags that set the version of Kubernetes programs, as in a release
// build. Without the flags, clients cannot parse the version of the API server.
func linkerFlags(version string) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	flags := []string{"-s", "-w"}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		for _, setting := range []string{
			"gitVersion=" + version,
			"gitMajor=" + major,
			"gitMinor=" + minor,
			"gitCommit=",
			"gitTreeState=clean",
		} {
			flags = append(flags, "-X", pkg+"."+setting)
		}
	}
	return strings.Join(flags, " ")
}

// ensurePrograms builds a set of programs unless it is cached, and returns their directory.
func ensurePrograms(ctx context.Context, set programSet) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	key := set.key()
	bin := filepath.Join(cache, key, "bin")
	// If the directory exists, it is complete, because a build moves it here only at the end.
	if _, err := os.Stat(bin); err == nil {
		markUsed(filepath.Join(cache, key))
		return bin, nil
	}

	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("create the cache directory: %w", err)
	}
	lock, err := openLock(filepath.Join(cache, "build.lock"), os.O_CREATE)
	if err != nil {
		return "", fmt.Errorf("open the lock of the build: %w", err)
	}
	defer lock.release()
	free, err := lock.try()
	if err != nil {
		return "", err
	}
	if !free {
		progress("waiting for another build of the programs in %s", cache)
		if err := lock.wait(ctx); err != nil {
			return "", fmt.Errorf("wait for another build: %w", err)
		}
	}
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}

	// Remove the files of a killed build. This process holds the lock, so no other build is running.
	work := filepath.Join(cache, "building")
	if err := os.RemoveAll(work); err != nil {
		return "", fmt.Errorf("remove the rest of an unfinished build: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }() // if this fails, the next build removes it
	if err := set.build(ctx, work); err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(work, "result"), filepath.Join(cache, key)); err != nil {
		return "", fmt.Errorf("put the programs in place: %w", err)
	}
	return bin, removeUnused(cache, key)
}

// build builds all programs of the set into the directory work/result/bin.
func (s programSet) build(ctx context.Context, work string) error {
	all := 0
	for _, m := range s.modules {
		all += len(m.programs)
	}
	begin, n := time.Now(), 0
	progress("building %s, once for this machine (about %s on 2 cores)", s.what, s.duration)
	for i, m := range s.modules {
		dir := filepath.Join(work, fmt.Sprintf("module-%d", i))
		m, err := m.complete(ctx)
		if err != nil {
			return fmt.Errorf("find the modules of Kubernetes %s: %w", m.kubernetes, err)
		}
		if err := m.write(dir); err != nil {
			return fmt.Errorf("write the module to build from: %w", err)
		}
		for _, p := range m.programs {
			n++
			progress("building %s (%d of %d, about %s on 2 cores)", p.name, n, all, p.duration)
			programBegin := time.Now()
			if err := m.build(ctx, dir, work, p); err != nil {
				return fmt.Errorf("build %s: %w", p.name, err)
			}
			progress("built %s in %s", p.name, time.Since(programBegin).Round(time.Second))
		}
	}
	progress("built %s in %s", s.what, time.Since(begin).Round(time.Second))
	return nil
}

func (m module) write(dir string) error {
	files := map[string][]byte{"go.mod": []byte(m.goMod), "go.sum": []byte(m.goSum)}
	maps.Copy(files, m.sources)
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// build builds one program of the module in dir into the directory work/result/bin.
func (m module) build(ctx context.Context, dir, work string, p program) error {
	temp := filepath.Join(work, "tmp")
	if err := os.MkdirAll(temp, 0o755); err != nil {
		return err
	}
	cgo := "CGO_ENABLED=0"
	if p.cgo {
		cgo = "CGO_ENABLED=1"
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags="+m.ldflags, "-tags="+m.tags,
		"-o", filepath.Join(work, "result", "bin", p.name), p.importPath)
	cmd.Dir = dir
	// Ignore Go settings that the user has made for other builds.
	cmd.Env = append(os.Environ(), cgo, "GOFLAGS=", "GOWORK=off", "GOTMPDIR="+temp, "PWD="+dir)
	// Interrupt the whole process group, because go starts compilers.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second
	output, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("%w\n%s", err, output)
	}
	return err
}

// unusedTimeout is how long unused programs stay in the cache. Other checkouts on this machine can
// need programs that were built from other module files or with other Go versions.
const unusedTimeout = 30 * 24 * time.Hour

// markUsed sets the modification time of a directory of programs to now. removeUnused checks this time.
func markUsed(dir string) {
	now := time.Now()
	_ = os.Chtimes(dir, now, now) // if this fails, the programs can be built again
}

// removeUnused removes sets of programs that were not used within unusedTimeout, except the set with
// the given key. Each set takes hundreds of megabytes.
func removeUnused(cache, key string) error {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return fmt.Errorf("look for old programs: %w", err)
	}
	for _, entry := range entries {
		if entry.Name() == key || !keyPattern.MatchString(entry.Name()) {
			continue
		}
		info, err := entry.Info()
		if err != nil || time.Since(info.ModTime()) < unusedTimeout {
			continue // already removed, or used recently
		}
		if err := os.RemoveAll(filepath.Join(cache, entry.Name())); err != nil {
			return fmt.Errorf("remove old programs: %w", err)
		}
	}
	return nil
}
