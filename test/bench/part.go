package main

import (
	"fmt"
	"maps"
)

// part is a question about the loop: what was measured, and what was aimed at.
type part struct {
	figures []figure
	goals   []goal
}

// figure is something that was measured, a few times.
type figure struct {
	what string
	// format is that of a value, unit what follows it.
	format, unit string
	values       []float64
}

// text is the median, with the least and the most.
func (f figure) text() string { return spreadOf(f.values).text(f.format) + f.unit }

// add adds what was measured, if it was.
func (p *part) add(what, format, unit string, values ...float64) figure {
	f := figure{what, format, unit, values}
	if len(values) > 0 {
		p.figures = append(p.figures, f)
		say("%s: %s", what, f.text())
	}
	return f
}

// hold adds what was measured, and the most that its median may be. It depends on how
// fast the machine is.
func (p *part) hold(f figure, most float64) {
	p.goals = append(p.goals, goal{what: f.what, wanted: "≤ " + fmt.Sprintf(f.format, most) + f.unit, measured: f.text(),
		held: round(spreadOf(f.values).median) <= most, speed: true})
}

// beside adds the goal that the median of ours is at most so many times that of theirs.
func (p *part) beside(what string, ours, theirs []float64, most float64) {
	ratio := spreadOf(ours).median / spreadOf(theirs).median
	p.goals = append(p.goals, goal{what: what, wanted: fmt.Sprintf("≤ %.2f ×", most), measured: fmt.Sprintf("%.2f ×", ratio), held: round(ratio) <= most, speed: true})
}

// table is that of what was measured.
func (p *part) table() string {
	var rows [][]string
	for _, f := range p.figures {
		rows = append(rows, []string{f.what, f.text()})
	}
	return table(1, []string{"", "median (least–most)"}, rows)
}

// loopParts are the parts in the order of the report.
func loopParts() []string {
	return []string{"Failover", "Backlog", "Neighbors", "Wide", "Rolling", "Nodes", "Flapping"}
}

// loopGoals are the goals of all parts.
func (r *results) loopGoals() []goal {
	var all []goal
	for _, name := range loopParts() {
		all = append(all, r.parts[name].goals...)
	}
	return all
}

// writeLoop writes the report about what else a loop can be bad at.
func (r *results) writeLoop(document string) error {
	fields := r.aboutMachine()
	maps.Copy(fields, map[string]any{"Goals": goalTable(r.loopGoals()), "Agenda": r.agenda.loop.fields()})
	for _, name := range loopParts() {
		one := r.parts[name]
		fields[name] = one.table()
	}
	return writeReport(document, loopText, fields)
}

// fields are the numbers of the agenda that the text tells.
func (a loopAgenda) fields() map[string]any {
	return map[string]any{
		"WideObjects": a.wideObjects, "WideKinds": a.wideKinds, "WideNamespaces": a.wideNamespaces,
		"HeldObjects": a.heldObjects, "HeldPods": a.heldPods, "Backlog": a.backlog, "BacklogChanges": a.backlogChanges,
		"BigPods": a.bigPods, "Others": a.others, "Flapping": a.flapping, "Rolled": a.rolled, "Nodes": a.nodes, "Churn": a.churn,
	}
}
