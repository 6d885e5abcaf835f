// Command versions runs end-to-end tests against versions of Kubernetes, and writes a column
// for each version to the table in docs/versions.md. For the oldest and the middle version, it runs
// all end-to-end tests. For other versions, it runs only the tests that the table needs.
//
//	go run ./hack/versions [VERSION ...]
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// document contains the table between two markers.
const (
	document = "docs/versions.md"
	begin    = "<!-- make test-versions writes this table -->\n\n"
	end      = "<!-- end of the table -->"
)

// feature is a row of the table. The feature works if all its tests pass.
type feature struct {
	name  string
	tests []string
}

// features returns the rows for simulated kubelets and the rows for real nodes.
func features() (simulated, onNodes []feature) {
	return []feature{
			{"`install`, and what the CRDs reject", []string{"TestInstallTakesOver", "TestServerRejectsShippedKinds"}},
			{"`install --controller`, with the rights that it grants", []string{"TestInstallController", "TestDeployForATeam"}},
			{"`run-controller`: no alarm in the log of a start", []string{"TestScaleWithTheControllerRunning"}},
			{"`run-controller`: killed, and started again", []string{"TestSecondCopyTakesOver", "TestEveryKind"}},
			{"`run-controller`: declared kinds", []string{"TestYourOwnKind"}},
			{"every verb", []string{"TestEveryVerb", "TestUninstall"}},
			{"`scale` as `kubectl scale`", []string{"TestScaleAsKubectlDoes"}},
			{"`scale --remove`", []string{"TestRemovePodOfADeployment"}},
			{"`status -w`, and `wait` on a terminal", []string{"TestLiveScreen", "TestLiveWait"}},
			{"`set`, `history`, and `undo`", []string{"TestEveryKind"}},
			{"`pause`", []string{"TestEveryVerb"}},
			{"exit codes for bad input", []string{"TestEveryVerb"}},
			{"exit codes without permission", []string{"TestEveryVerb", "TestCheck"}},
			{"completion by its kubectl", []string{"TestCompletionInstall", "TestCompletionInShells"}},
		}, []feature{
			{"`logs`, with a real kubelet", []string{"TestLogsThroughARestart"}},
			{"`run-controller` in a real pod", []string{"TestDeployedController"}},
		}
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "versions:", err)
		os.Exit(1)
	}
}

func run(wanted []string) error {
	out, err := exec.Command("bin/cluster", "versions").Output()
	if err != nil {
		return fmt.Errorf("list the versions: %w", err)
	}
	known := strings.Fields(string(out))
	versions := slices.DeleteFunc(slices.Clone(known), func(version string) bool {
		return len(wanted) > 0 && !slices.ContainsFunc(wanted, func(prefix string) bool {
			return strings.HasPrefix(version+".", "v"+strings.TrimPrefix(prefix, "v")+".")
		})
	})
	simulated, onNodes := features()
	if os.Geteuid() != 0 { // real nodes need root
		onNodes = nil
	}
	var failed []error
	for _, version := range versions {
		results := map[string]string{}
		env := append(os.Environ(), "IMOOCPOD_CLUSTER_KUBERNETES="+version)
		build := []string{"bin/cluster", "build"}
		if len(onNodes) > 0 {
			build = append(build, "--real-nodes")
		}
		if err := command(env, io.Discard, build...).Run(); err != nil {
			return fmt.Errorf("build Kubernetes %s: %w", version, err)
		}
		only := "-run=" + pattern(simulated)
		if version == known[0] || version == known[len(known)/2] {
			only = "-run=."
		}
		if err := test(env, results, "-vet=off", "-count=1", "-timeout=90m", "-parallel=8", only, "./test/e2e/..."); err != nil {
			return err
		}
		if len(onNodes) > 0 {
			if err := test(env, results, "-C=test/node", "-count=1", "-timeout=30m", "-run="+pattern(onNodes), "."); err != nil {
				return err
			}
		}
		if err := write(version, slices.Concat(simulated, onNodes), results); err != nil {
			return err
		}
		failed = append(failed, failures(version, results)...)
	}
	return errors.Join(failed...)
}

// write adds or replaces the column of a version in the table of the document.
func write(version string, rows []feature, results map[string]string) error {
	content, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(content), begin)
	table, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return fmt.Errorf("%s has no markers of the table", document)
	}
	columns := parse(table)
	columns[version] = map[string]string{}
	for _, row := range rows {
		columns[version][row.name] = cell(row, results)
	}
	return os.WriteFile(document, []byte(before+begin+render(columns, rows)+"\n"+end+after), 0o644)
}

func pattern(of []feature) string {
	var names []string
	for _, f := range of {
		names = append(names, f.tests...)
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

func command(env []string, stdout io.Writer, args ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, stdout, os.Stderr
	return cmd
}

// test calls "go test", and stores the result of each top-level test, such as "pass", in results.
// It prints the output of failed tests. If a package fails, for example in the build, it stores a
// result for the package.
func test(env []string, results map[string]string, args ...string) error {
	flags := 0
	if strings.HasPrefix(args[0], "-C") {
		flags = 1 // -C must be the first flag
	}
	args = slices.Concat([]string{"go", "test"}, args[:flags], []string{"-json"}, args[flags:])
	var out bytes.Buffer
	ran := command(env, &out, args...).Run()
	said := map[string]*strings.Builder{}
	for decoder := json.NewDecoder(&out); ; {
		var event struct{ Action, Package, Test, Output string }
		if err := decoder.Decode(&event); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read the results of %s: %w", strings.Join(args, " "), errors.Join(err, ran))
		}
		name, _, sub := strings.Cut(event.Test, "/")
		key := event.Package + " " + name
		if said[key] == nil {
			said[key] = &strings.Builder{}
		}
		if words := strings.TrimSpace(event.Output); !strings.HasPrefix(words, "=== ") && !strings.HasPrefix(words, "--- PASS") {
			said[key].WriteString(event.Output)
		}
		if sub || event.Action != "pass" && event.Action != "fail" && event.Action != "skip" {
			continue
		}
		if event.Action == "fail" {
			fmt.Fprint(os.Stderr, said[key])
		}
		if name != "" {
			results[name] = event.Action
		} else if event.Action == "fail" {
			results["package "+event.Package] = event.Action
		}
	}
}

// cell returns "✔" if all tests of a feature passed, or else "✖".
func cell(row feature, results map[string]string) string {
	for _, name := range row.tests {
		if results[name] != "pass" {
			return "✖"
		}
	}
	return "✔"
}

// parse returns the cells of a table by version and feature.
func parse(table string) map[string]map[string]string {
	columns := map[string]map[string]string{}
	var header []string
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if header == nil {
			header = cells
		}
		for i := 1; i < min(len(cells), len(header)); i++ {
			if columns[header[i]] == nil {
				columns[header[i]] = map[string]string{}
			}
			columns[header[i]][cells[0]] = cells[i]
		}
	}
	return columns
}

func render(columns map[string]map[string]string, rows []feature) string {
	versions := slices.Sorted(maps.Keys(columns))
	var b strings.Builder
	fmt.Fprintf(&b, "| | %s |\n|%s\n", strings.Join(versions, " | "), strings.Repeat(" --- |", len(versions)+1))
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s |", row.name)
		for _, version := range versions {
			fmt.Fprintf(&b, " %s |", cmp.Or(columns[version][row.name], "not run"))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func failures(version string, results map[string]string) []error {
	var all []error
	for _, name := range slices.Sorted(maps.Keys(results)) {
		if results[name] != "pass" {
			all = append(all, fmt.Errorf("%s: %s: %s", version, name, results[name]))
		}
	}
	return all
}
