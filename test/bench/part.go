package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// part is what came of a question about the loop: what was measured, and what was aimed
// at.
type part struct {
	figures []figure
	goals   []goal
	// failed is why not all of it was measured, in a line; "": it was.
	failed string
}

// question is one about the loop.
type question struct {
	name    string
	measure func(context.Context, loopAgenda) (part, error)
	// emptied is the namespace that is emptied afterwards; "": what is there stays.
	emptied string
}

// questions are in the order in which they are asked. First come those of which little is
// left, then the widest, whose loop sees the objects of all namespaces. What the others
// leave behind stays, because to delete it takes as long as to make it. Their loops do
// not see it.
func (b *bench) questions() []question {
	return []question{
		{"Nodes", b.measureNodes, nodesNamespace},
		{"Rolling", b.measureRolling, rollingNamespace},
		{"Flapping", b.measureFlapping, flappingNamespace},
		{"Beside", b.measureBeside, besideNamespace},
		{"Wide", b.measureWide, ""},
		{"Failover", b.measureFailover, ""},
		{"Backlog", b.measureBacklog, ""},
		{"Neighbors", b.measureNeighbors, ""},
	}
}

// partTime is how long a part may take: about twice what it does on two cores.
const partTime = 5 * time.Minute

// ask measures a part, and removes what it leaves behind. That the part fails is no
// error.
func (b *bench) ask(ctx context.Context, one question, todo loopAgenda) (part, error) {
	began := time.Now()
	limited, cancel := context.WithTimeoutCause(ctx, partTime, fmt.Errorf("not done after %s", partTime))
	defer cancel()
	p, err := one.measure(limited, todo)
	switch {
	case ctx.Err() != nil:
		return p, context.Cause(ctx)
	case err != nil:
		say("%s failed: %v", one.name, err)
		p.fail(one.name, err)
	}
	if one.emptied != "" {
		if err := b.empty(ctx, one.emptied); err != nil {
			say("what %s leaves behind stays: %v", one.name, err)
		}
	}
	say("%s took %.0f s", one.name, time.Since(began).Seconds())
	return p, ctx.Err()
}

// fail notes why a part failed, as a goal that is missed, too.
func (p *part) fail(name string, err error) {
	const most = 200
	line, _, _ := strings.Cut(err.Error(), "\n")
	p.failed = fmt.Sprintf("%.*s", most, line)
	p.goals = append(p.goals, goal{what: fmt.Sprintf("all measurements of %q", name), wanted: "done", measured: "failed"})
}

// empty removes the pods of a namespace and the objects that have them, at once.
func (b *bench) empty(ctx context.Context, namespace string) error {
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	var failed []error
	for _, resource := range []schema.GroupVersionResource{imoocPods(), myDaemonSets()} {
		failed = append(failed, b.witness.dynamic.Resource(resource).Namespace(namespace).DeleteCollection(ctx, now, metav1.ListOptions{}))
	}
	return errors.Join(append(failed, b.witness.core.Pods(namespace).DeleteCollection(ctx, now, metav1.ListOptions{}))...)
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
	text := table(1, []string{"", "median (least–most)"}, rows)
	if p.failed != "" {
		text += "\n**Not everything was measured:** " + p.failed + "\n"
	}
	return text
}

// loopParts are the parts in the order of the report.
func loopParts() []string {
	return []string{"Failover", "Backlog", "Neighbors", "Wide", "Rolling", "Nodes", "Flapping", "Beside"}
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
	maps.Copy(fields, map[string]any{"Goals": goalTable(r.loopGoals()), "Agenda": r.agenda.loop.fields(), "Findings": strings.TrimSpace(loopFindings)})
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
		"BigPods": a.bigPods, "Others": a.others, "Flapping": a.flapping, "BesideObjects": a.besideObjects, "BesideMany": besideMany, "BesideFew": besideFew, "Rolled": a.rolled, "Nodes": a.nodes, "Churn": a.churn,
	}
}
