package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// report is the result of a part of the benchmark.
type report struct {
	machine machine
	took    time.Duration
	goals   []goal
}

// write replaces the section of a part in a document with the machine and the goals.
func (r report) write(part, document string) error {
	return writeSection(document, part, r.machine.text(r.took)+"\n\n"+goalTable(r.goals))
}

// writeSection replaces the text between the two comments that enclose a section of
// a document.
func writeSection(document, section, text string) error {
	old, err := os.ReadFile(document)
	if err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	begin, end := "<!-- "+section+" -->\n", "<!-- /"+section+" -->\n"
	before, rest, begins := strings.Cut(string(old), begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return fmt.Errorf("%s has no section %q", filepath.Base(document), section)
	}
	return os.WriteFile(document, []byte(before+begin+"\n"+text+"\n"+end+after), 0o644)
}

// text describes the machine, the programs, and the time of the measurement.
func (m machine) text(took time.Duration) string {
	text := fmt.Sprintf("%s, %d cores, %.0f GiB, %s; %s, %s, kubectl-imoocpod %s; %s, in %s.",
		m.processor, m.cores, float64(m.memory)/(1<<30), m.system, m.server, m.goVersion, strings.TrimPrefix(m.program, "Client Version: "),
		time.Now().UTC().Format(time.DateOnly), took.Round(time.Second))
	if m.spare < 80 {
		text += fmt.Sprintf(" **Only %.0f %% of the processors were idle: read the counts, not the times.**", m.spare)
	}
	return text
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
