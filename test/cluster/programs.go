package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
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
)

// cacheVariable names the environment variable that overrides where the programs
// are kept.
const cacheVariable = "IMOOCPOD_CLUSTER_CACHE"

// The module files are embedded so that the launcher can build the programs
// wherever it itself lies and whatever the working directory is.
var (
	//go:embed go.mod
	goMod string
	//go:embed go.sum
	goSum string
)

// program is one of the programs that a control plane is made of.
type program struct {
	name       string
	importPath string
	// duration says about how long a first build takes on a machine with two
	// cores, in the order of the list of programs, as each profits from those
	// before it.
	duration string
}

func programs() []program {
	return []program{
		{"etcd", "go.etcd.io/etcd/server/v3", "1 minute"},
		{"kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", "3 minutes"},
		{"kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager", "1 minute"},
		{"kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler", "5 seconds"},
		{"kubectl", "k8s.io/kubernetes/cmd/kubectl", "20 seconds"},
		{"kwok", "sigs.k8s.io/kwok/cmd/kwok", "10 seconds"},
	}
}

// build is what a set of programs is built from.
type build struct {
	// what says to people which programs these are.
	what string
	// goMod and goSum are the module files, sources the Go files beside them, by
	// their names.
	goMod, goSum string
	sources      map[string]string
	programs     []program
	args         []string
}

// controlPlane is the build of the programs that a control plane is made of.
func controlPlane() (build, error) {
	args, err := buildArgs()
	return build{
		what: "the control plane, once for this machine (about 6 minutes on 2 cores)", goMod: goMod, goSum: goSum, programs: programs(), args: args,
	}, err
}

// key returns the name of what is built.
func (b build) key() string {
	key := []string{b.goMod, b.goSum}
	for _, name := range slices.Sorted(maps.Keys(b.sources)) {
		key = append(key, name, b.sources[name])
	}
	return cacheKey(append(key, strings.Join(b.args, " "), runtime.GOOS+"/"+runtime.GOARCH+" "+runtime.Version())...)
}

func buildCommand(ctx context.Context, args []string) error {
	flags := newFlagSet("build")
	module := flags.String("module", "", "`directory` of a module whose tools are to be built, in the place of the control plane")
	if err := parseAll(flags, args); err != nil {
		return err
	}
	from, err := controlPlane()
	if *module != "" {
		from, err = readModule(*module)
	}
	if err != nil {
		return err
	}
	bin, err := ensure(ctx, from)
	if err != nil {
		return err
	}
	fmt.Println(bin)
	return nil
}

// cacheDir returns the directory that belongs to the launcher on this machine.
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

// keyPattern tells the directories of built programs from others in the cache.
var keyPattern = regexp.MustCompile(`^[0-9a-f]{16}$`)

// cacheKey returns the name of what is built from the given module files, with
// given arguments and a toolchain: it changes with everything that the programs
// depend on.
func cacheKey(parts ...string) string {
	hash := sha256.New()
	for _, part := range parts {
		_, _ = fmt.Fprintf(hash, "%d %s\n", len(part), part) // a hash never fails
	}
	return hex.EncodeToString(hash.Sum(nil))[:16]
}

// buildArgs returns the arguments of "go build" that are common to all programs.
func buildArgs() ([]string, error) {
	version, err := requiredVersion(goMod, "k8s.io/kubernetes")
	if err != nil {
		return nil, err
	}
	return []string{"-trimpath", "-buildvcs=false", "-ldflags", linkerFlags(version)}, nil
}

// linkerFlags returns linker flags that tell the Kubernetes programs their
// version. A release build does the same; without it no client can parse the
// version that the API server reports.
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

// requiredVersion returns the version of a module that a go.mod requires.
func requiredVersion(goMod, module string) (string, error) {
	scanner := bufio.NewScanner(strings.NewReader(goMod))
	for scanner.Scan() {
		fields := strings.Fields(strings.TrimPrefix(scanner.Text(), "require "))
		if len(fields) >= 2 && fields[0] == module && fields[1] != "=>" {
			return fields[1], nil
		}
	}
	return "", fmt.Errorf("no version of %s in go.mod", module)
}

// ensurePrograms builds the programs of a control plane unless they have been
// built before and returns their directory.
func ensurePrograms(ctx context.Context) (string, error) {
	b, err := controlPlane()
	if err != nil {
		return "", err
	}
	return ensure(ctx, b)
}

// ensure is ensurePrograms for any programs.
func ensure(ctx context.Context, b build) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	key := b.key()
	bin := filepath.Join(cache, key, "bin")
	// The directory appears under its name only when it is complete.
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

	// What lies here was left by a build that was killed: whoever builds has the
	// lock.
	work := filepath.Join(cache, "building")
	if err := os.RemoveAll(work); err != nil {
		return "", fmt.Errorf("remove the rest of an unfinished build: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }() // the next build does it otherwise
	if err := b.build(ctx, work); err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(work, "result"), filepath.Join(cache, key)); err != nil {
		return "", fmt.Errorf("put the programs in place: %w", err)
	}
	return bin, removeUnused(cache, key)
}

// build builds all programs into the directory result/bin of work.
func (b build) build(ctx context.Context, work string) error {
	module := filepath.Join(work, "module")
	temp := filepath.Join(work, "tmp")
	for _, dir := range []string{module, temp} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("create a directory to build in: %w", err)
		}
	}
	files := map[string]string{"go.mod": b.goMod, "go.sum": b.goSum}
	maps.Copy(files, b.sources)
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(module, name), []byte(content), 0o644); err != nil {
			return fmt.Errorf("write the module to build from: %w", err)
		}
	}

	begin := time.Now()
	progress("building %s", b.what)
	for i, p := range b.programs {
		progress("building %s (%d of %d, about %s on 2 cores)", p.name, i+1, len(b.programs), p.duration)
		programBegin := time.Now()
		args := append([]string{"build"}, b.args...)
		args = append(args, "-o", filepath.Join(work, "result", "bin", p.name), p.importPath)
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = module
		// What the user has set for other builds must not change this one.
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOTMPDIR="+temp, "PWD="+module)
		// The compilers that go starts are ended with it.
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
		cmd.WaitDelay = 10 * time.Second
		output, err := cmd.CombinedOutput()
		if ctx.Err() != nil {
			return fmt.Errorf("build %s: %w", p.name, context.Cause(ctx))
		}
		if err != nil {
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				return fmt.Errorf("build %s: %w\n%s", p.name, err, output)
			}
			return fmt.Errorf("build %s: %w", p.name, err)
		}
		progress("built %s in %s", p.name, time.Since(programBegin).Round(time.Second))
	}
	progress("built all in %s", time.Since(begin).Round(time.Second))
	return nil
}

// unusedTimeout is how long programs are kept that nobody uses. Those that were
// built from other module files or with another Go may be in use elsewhere on
// this machine, in another checkout for instance.
const unusedTimeout = 30 * 24 * time.Hour

// markUsed remembers when programs were used last.
func markUsed(dir string) {
	now := time.Now()
	_ = os.Chtimes(dir, now, now) // at the worst they are built again
}

// removeUnused removes the programs of other keys that have not been used for
// long, as each set takes hundreds of megabytes.
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
			continue // it has just gone, or is still of use
		}
		if err := os.RemoveAll(filepath.Join(cache, entry.Name())); err != nil {
			return fmt.Errorf("remove old programs: %w", err)
		}
	}
	return nil
}
