package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// part is the answer to a question about the loop: the measurements and the goals.
type part struct {
	figures []figure
	goals   []goal
	// failed is the error, in one line, that ended the part early, or "".
	failed string
}

// question is a question about the loop to be measured.
type question struct {
	name    string
	measure func(context.Context, loopAgenda) (part, error)
	// emptied is a namespace to be emptied afterwards, or "".
	emptied string
}

// questions returns the questions in the order of measuring. Those that leave
// little behind come first, then the widest, whose loop sees all namespaces. The
// objects of the others stay because deleting them takes as long as creating them,
// and the later loops do not see them.
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

// partTime limits the time of a part: about twice what it takes on two cores.
const partTime = 5 * time.Minute

// ask measures a part, and removes its objects. A failure of the part is not an
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

// fail records why a part failed, and adds a missed goal.
func (p *part) fail(name string, err error) {
	const most = 200
	line, _, _ := strings.Cut(err.Error(), "\n")
	p.failed = fmt.Sprintf("%.*s", most, line)
	p.goals = append(p.goals, goal{what: fmt.Sprintf("all measurements of %q", name), wanted: "done", measured: "failed"})
}

// empty deletes the pods of a namespace and their owners at once.
func (b *bench) empty(ctx context.Context, namespace string) error {
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	var failed []error
	for _, resource := range []schema.GroupVersionResource{imoocPods(), myDaemonSets()} {
		failed = append(failed, b.witness.dynamic.Resource(resource).Namespace(namespace).DeleteCollection(ctx, now, metav1.ListOptions{}))
	}
	return errors.Join(append(failed, b.witness.core.Pods(namespace).DeleteCollection(ctx, now, metav1.ListOptions{}))...)
}

// figure is a series of measurements.
type figure struct {
	what string
	// format is the format of a value, and unit its suffix.
	format, unit string
	values       []float64
}

// text returns the median, with the minimum and the maximum.
func (f figure) text() string { return spreadOf(f.values).text(f.format) + f.unit }

// add adds measurements to the part, if there are any.
func (p *part) add(what, format, unit string, values ...float64) figure {
	f := figure{what, format, unit, values}
	if len(values) > 0 {
		p.figures = append(p.figures, f)
		say("%s: %s", what, f.text())
	}
	return f
}

// hold adds measurements with a limit for their median. It depends on how fast the
// machine is.
func (p *part) hold(f figure, most float64) {
	p.goals = append(p.goals, goal{what: f.what, wanted: "≤ " + fmt.Sprintf(f.format, most) + f.unit, measured: f.text(),
		held: round(spreadOf(f.values).median) <= most, lenient: true})
}

// beside adds the goal that the median of ours is at most a multiple of that of
// theirs.
func (p *part) beside(what string, ours, theirs []float64, most float64) {
	ratio := spreadOf(ours).median / spreadOf(theirs).median
	p.goals = append(p.goals, goal{what: what, wanted: fmt.Sprintf("≤ %.2f ×", most), measured: fmt.Sprintf("%.2f ×", ratio), held: round(ratio) <= most, lenient: true})
}

// table returns the measurements as a table.
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

// loopParts returns the parts in the order of the report.
func loopParts() []string {
	return []string{"Failover", "Backlog", "Neighbors", "Wide", "Rolling", "Nodes", "Flapping", "Beside"}
}

// loopReport returns the goals and the tables of all parts.
func (r *results) loopReport() (goals []goal, tables []heading) {
	for _, name := range loopParts() {
		one := r.parts[name]
		goals = append(goals, one.goals...)
		tables = append(tables, heading{name, one.table()})
	}
	return goals, tables
}
