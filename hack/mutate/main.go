// Command mutate makes one small change at a time in the package that its first argument names. It lists the changes
// that make no test fail, and the changes that make the tests time out. "make mutate" runs it.
//
// It builds the tests of each package once, with all changes (mutants) compiled in. Each run enables
// one mutant, so a mutant needs no build of its own. Each argument names a test suite: PACKAGE means
// all tests of the package, and PACKAGE:TEST means the tests that match TEST. For each mutant, only
// the suites that reach it run, so pass slow tests as separate arguments.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: mutate PACKAGE [PACKAGE[:TEST] WITH MORE TESTS]...")
		os.Exit(2)
	}
	if err := mutate(context.Background(), os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// mutate creates mutants of the first package, and runs the tests of all packages.
func mutate(ctx context.Context, out io.Writer, packages []string) error {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()

	pkg, err := listPackage(ctx, packages[0])
	if err != nil {
		return err
	}
	mutants, err := writeMutants(pkg, dir)
	if err != nil {
		return err
	}
	var suites []*suite
	built := map[string]*suite{}
	for _, argument := range packages {
		path, run, _ := strings.Cut(argument, ":")
		if built[path] == nil {
			if built[path], err = buildTests(ctx, path, dir, strconv.Itoa(len(built))); err != nil {
				return err
			}
		}
		tests, err := built[path].only(ctx, run)
		if err != nil {
			return err
		}
		suites = append(suites, tests)
	}
	counts := map[string]int{}
	runAll(ctx, suites, mutants, func(m mutant, result string) {
		counts[result]++
		if result != killed {
			_, _ = fmt.Fprintf(out, "%-11s %s:%d:%d: %s\n", result, filepath.Base(m.file), m.line, m.column, m.change)
		}
	})
	found := counts[killed] + counts[timedOut]
	_, err = fmt.Fprintf(out, "%s: the tests notice %d of %d changes (%.1f %%): killed %d, timed out %d, lived %d, not covered %d\n",
		pkg.ImportPath, found, len(mutants), 100*float64(found)/float64(max(len(mutants), 1)),
		counts[killed], counts[timedOut], counts[lived], counts[notCovered])
	return err
}

// goPackage holds fields from the output of go list.
type goPackage struct {
	Dir, ImportPath, Name, Export string
	GoFiles                       []string
	exports                       map[string]string
}

// listPackage returns a package with the export files of its dependencies.
func listPackage(ctx context.Context, pkg string) (*goPackage, error) {
	output, err := exec.CommandContext(ctx, "go", "list", "-export", "-deps", "-json=Dir,ImportPath,Name,Export,GoFiles", "./"+filepath.ToSlash(filepath.Clean(pkg))).Output()
	if err != nil {
		return nil, fmt.Errorf("cannot list %s: %w", pkg, err)
	}
	exports := map[string]string{}
	decoder := json.NewDecoder(bytes.NewReader(output))
	for {
		listed := &goPackage{}
		if err := decoder.Decode(listed); err != nil {
			return nil, err
		}
		exports[listed.ImportPath] = listed.Export
		// go list prints a package after its dependencies.
		if !decoder.More() {
			listed.exports = exports
			return listed, nil
		}
	}
}

// writeMutants writes the files of a package with all mutants to dir, and the overlay for the build
// to dir/overlay.json.
func writeMutants(pkg *goPackage, dir string) ([]mutant, error) {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range pkg.GoFiles {
		file, err := parser.ParseFile(fset, filepath.Join(pkg.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(pkg.exports[path])
	})}
	if _, err := config.Check(pkg.ImportPath, fset, files, info); err != nil {
		return nil, err
	}

	m := &mutation{fset: fset, info: info}
	overlay := map[string]string{}
	write := func(name, text string) error {
		overlay[filepath.Join(pkg.Dir, name)] = filepath.Join(dir, name)
		return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)
	}
	for i, file := range files {
		source, err := os.ReadFile(filepath.Join(pkg.Dir, pkg.GoFiles[i]))
		if err != nil {
			return nil, err
		}
		if err := write(pkg.GoFiles[i], m.rewrite(file, source)); err != nil {
			return nil, err
		}
	}
	if err := write("mutant_switch.go", "package "+pkg.Name+"\n"+switchSource); err != nil {
		return nil, err
	}
	replace, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		return nil, err
	}
	return m.mutants, os.WriteFile(filepath.Join(dir, "overlay.json"), replace, 0o600)
}

// The possible results of the tests with a mutant.
const (
	killed     = "killed"      // a test fails
	timedOut   = "timed out"   // the tests reach the limit of processor time, as in an endless loop
	lived      = "lived"       // all tests pass
	notCovered = "not covered" // no test reaches the code
)

// suite holds the tests of one package, built with all mutants.
type suite struct {
	binary, dir string
	args        []string
	reached     map[int]bool
	seconds     int // the limit of processor time for one run
}

func buildTests(ctx context.Context, pkg, dir, name string) (*suite, error) {
	s := &suite{binary: filepath.Join(dir, name+".test"), dir: filepath.Clean(pkg)}
	command := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", filepath.Join(dir, "overlay.json"), "-o", s.binary, "./"+filepath.ToSlash(s.dir))
	if output, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cannot build the tests of %s: %w\n%s", pkg, err, output)
	}
	// Skip the minimization of failures, because only the failure itself matters.
	if help, _ := exec.CommandContext(ctx, s.binary, "-h").CombinedOutput(); bytes.Contains(help, []byte("-rapid.nofailfile")) {
		s.args = []string{"-rapid.nofailfile", "-rapid.shrinktime=1ms"}
	}
	return s, nil
}

// only returns a suite with the tests that match run. It runs these tests once without a mutant, to
// record which mutants they reach and how much processor time they need.
func (s *suite) only(ctx context.Context, run string) (*suite, error) {
	s = &suite{binary: s.binary, dir: s.dir, args: append([]string{"-test.run=" + run}, s.args...), seconds: 600, reached: map[int]bool{}}
	reached := s.binary + ".reached"
	command := s.command(ctx, "MUTANTS_REACHED="+reached)
	if output, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the tests of %s fail without a change: %w\n%s", s.dir, err, output)
	}
	s.seconds = max(10, 10*int(processorTime(command)/time.Second))

	content, err := os.ReadFile(reached)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(content)) {
		id, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			return nil, err
		}
		s.reached[id] = true
	}
	return s, os.RemoveAll(reached)
}

// command returns the command that runs the tests. It limits the processor time, because the elapsed time
// also depends on other programs. It also limits the memory, which an endless loop could fill.
func (s *suite) command(ctx context.Context, env string) *exec.Cmd {
	script := fmt.Sprintf(`ulimit -t %d; ulimit -v 8000000; exec "$0" "$@"`, s.seconds)
	args := append([]string{"-c", script, s.binary, "-test.failfast", "-test.cpu=1", "-test.timeout=10m"}, s.args...)
	command := exec.CommandContext(ctx, "sh", args...)
	command.Dir = s.dir
	command.Env = append(os.Environ(), env, "GOMAXPROCS=1")
	return command
}

func processorTime(command *exec.Cmd) time.Duration {
	return command.ProcessState.UserTime() + command.ProcessState.SystemTime()
}

// runAll runs the tests for each mutant, with one parallel run per processor.
func runAll(ctx context.Context, suites []*suite, mutants []mutant, report func(mutant, string)) {
	var workers sync.WaitGroup
	var reporting sync.Mutex
	work := make(chan mutant)
	for range runtime.NumCPU() {
		workers.Go(func() {
			for m := range work {
				result := run(ctx, suites, m)
				reporting.Lock()
				report(m, result)
				reporting.Unlock()
			}
		})
	}
	for _, m := range mutants {
		work <- m
	}
	close(work)
	workers.Wait()
}

// run returns the result of a mutant. It stops at the first suite that fails.
func run(ctx context.Context, suites []*suite, m mutant) string {
	result := notCovered
	for _, s := range suites {
		if !s.reached[m.id] {
			continue
		}
		result = lived
		command := s.command(ctx, "MUTANT="+strconv.Itoa(m.id))
		if err := command.Run(); err == nil {
			continue
		}
		// If a process is killed at the limit, its reported time can be slightly below the limit.
		if processorTime(command) >= time.Duration(s.seconds)*time.Second*9/10 {
			return timedOut
		}
		return killed
	}
	return result
}
