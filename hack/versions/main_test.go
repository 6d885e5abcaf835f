package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFeaturesHaveTests checks that the tests of each row exist. Otherwise, the row would fail for
// every version.
func TestFeaturesHaveTests(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	for _, pattern := range []string{"../../test/e2e/*_test.go", "../../test/e2e/*/*_test.go", "../../test/node/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(text)
		}
	}
	simulated, onNodes := features()
	for _, row := range slices.Concat(simulated, onNodes) {
		for _, name := range row.tests {
			if !strings.Contains(code.String(), "func "+name+"(") {
				t.Errorf("%s: there is no test %s", row.name, name)
			}
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	rows := []feature{{"`wait`", []string{"TestWait", "TestWaitInJSON"}}, {"`park`", []string{"TestPark"}}}
	columns := parse("| | v1.33.13 | v1.36.3 |\n| --- | --- | --- |\n| `wait` | ✔ | ✖ |\n| `old` | ✔ | ✔ |\n")
	columns["v1.30.14"] = map[string]string{}
	for _, row := range rows {
		// TestWaitInJSON did not run.
		columns["v1.30.14"][row.name] = cell(row, map[string]string{"TestWait": "pass", "TestPark": "pass"})
	}
	const want = "| | v1.30.14 | v1.33.13 | v1.36.3 |\n| --- | --- | --- | --- |\n| `wait` | ✖ | ✔ | ✖ |\n| `park` | ✔ | not run | not run |\n"
	if got := render(columns, rows); got != want {
		t.Errorf("the table is\n%s\nwant\n%s", got, want)
	}
	if got, want := pattern(rows), "^(TestWait|TestWaitInJSON|TestPark)$"; got != want {
		t.Errorf("the tests are %s, want %s", got, want)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	failed := failures("v1.30.14", map[string]string{"TestWait": "pass", "TestPark": "skip", "TestOther": "fail"})
	if len(failed) != 2 || failed[0].Error() != "v1.30.14: TestOther: fail" {
		t.Errorf("the errors are %v", failed)
	}
}
