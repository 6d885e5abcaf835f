package main

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	t.Parallel()
	rows := []feature{{"`wait`", []string{"TestWait", "TestWaitInJSON"}}, {"`park`", []string{"TestPark"}}}
	columns := parse("| | v1.33.13 | v1.36.3 |\n| --- | --- | --- |\n| `wait` | ✔ | ✖ |\n| `old` | ✔ | ✔ |\n")
	columns["v1.30.14"] = map[string]string{}
	for _, row := range rows {
		// One of the tests did not run.
		columns["v1.30.14"][row.name] = cell(row, map[string]string{"TestWait": "pass", "TestPark": "pass"})
	}
	const want = "| | v1.30.14 | v1.33.13 | v1.36.3 |\n| --- | --- | --- | --- |\n| `wait` | ✖ | ✔ | ✖ |\n| `park` | ✔ | not run | not run |\n"
	if got := render(columns, rows); got != want {
		t.Errorf("the table is\n%s\nwant\n%s", got, want)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	results := []map[string]string{{"TestWait": "pass", "TestPark": "skip", "TestOther": "fail"}, {"TestWait": "pass"}}
	err := failures([]string{"v1.30.14", "v1.33.13"}, results)
	if err == nil || strings.Count(err.Error(), "\n") != 1 || !strings.Contains(err.Error(), "v1.30.14: TestOther: fail") {
		t.Errorf("the error is %v", err)
	}
}
