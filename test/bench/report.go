package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// report describes the conditions under which a part of the benchmark was measured.
type report struct {
	// machine describes the machine and the measured programs.
	machine string
	// spare is the idle share of the processors before the measurement, in percent.
	spare float64
	began time.Time
}

// write replaces the section between two comments in a document. The new section names the machine and
// the time of the measurement, and contains a table.
func (r report) write(document, section, table string) {
	date, took := time.Now().UTC().Format(time.DateOnly), time.Since(r.began).Round(time.Second)
	text := fmt.Sprintf("%s; %s, in %s.", r.machine, date, took)
	if r.spare < 80 {
		text += fmt.Sprintf(" **Only %.0f %% of the processors were idle: read the counts, not the times.**", r.spare)
	}
	old := string(must(os.ReadFile(document)))
	begin, end := "<!-- "+section+" -->\n", "<!-- /"+section+" -->\n"
	before, rest, begins := strings.Cut(old, begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		check(fmt.Errorf("%s has no section %q", filepath.Base(document), section))
	}
	check(os.WriteFile(document, []byte(before+begin+"\n"+text+"\n\n"+table+"\n"+end+after), 0o644))
}

// table returns a Markdown table. numbers is the index of the first right-aligned column.
func table(numbers int, header []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(header)
	rule := make([]string, len(header))
	for i := range rule {
		rule[i] = "---"
		if i >= numbers {
			rule[i] = "---:"
		}
	}
	line(rule)
	for _, row := range rows {
		line(row)
	}
	return b.String()
}

func goalTable(goals []goal) string {
	var rows [][]string
	for _, g := range goals {
		verdict := "held"
		if !g.held {
			verdict = "**missed**"
		}
		rows = append(rows, []string{g.what, g.wanted, g.measured, verdict})
	}
	return table(4, []string{"", "goal", "measured", ""}, rows)
}
