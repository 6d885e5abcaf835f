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

// part holds the results for one question about the loop.
type part struct{ goals []goal }

// question is a question about the loop, with the measurement that answers it.
type question struct {
	name    string
	measure func(context.Context, loopAgenda) (part, error)
	// emptied is the namespace to be emptied afterwards, or "" if there is none.
	emptied string
}

// questions returns the questions in the order of measuring. First come those whose objects are
// deleted afterwards, then Wide, whose loop sees all namespaces. Wide and those after it keep their
// objects, because deleting them takes as long as creating them. The loops after Wide do not see
// the objects of earlier questions.
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

// partTime limits the time of a part. It is about twice the time needed on two cores.
const partTime = 5 * time.Minute

// ask answers a question by a measurement, and then empties the namespace one.emptied. If the
// measurement fails, the part has a missed goal, and ask returns no error.
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

// fail adds a missed goal that says why a part failed.
func (p *part) fail(name string, err error) {
	line, _, _ := strings.Cut(err.Error(), "\n")
	p.goals = append(p.goals, goal{what: fmt.Sprintf("all measurements of %q", name), wanted: "done", measured: fmt.Sprintf("failed: %.200s", line)})
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
	// format is the format of a value. unit follows the value.
	format, unit string
	values       []float64
}

// text returns the median, with the minimum and the maximum.
func (f figure) text() string { return spreadOf(f.values).text(f.format) + f.unit }

// hold adds the goal that the median of measurements is at most a limit. The goal is
// lenient because it depends on how fast the machine is.
func (p *part) hold(most float64, f figure) {
	say("%s: %s", f.what, f.text())
	p.goals = append(p.goals, goal{what: f.what, wanted: "≤ " + fmt.Sprintf(f.format, most) + f.unit, measured: f.text(),
		held: round(spreadOf(f.values).median) <= most, lenient: true})
}

// beside adds the goal that the ratio of our median to their median is at most a limit.
func (p *part) beside(what string, ours, theirs []float64, most float64) {
	ratio := spreadOf(ours).median / spreadOf(theirs).median
	p.goals = append(p.goals, goal{what: what, wanted: fmt.Sprintf("≤ %.2f ×", most), measured: fmt.Sprintf("%.2f ×", ratio), held: round(ratio) <= most, lenient: true})
}

// loopParts returns the parts in the order of the report.
func loopParts() []string {
	return []string{"Failover", "Backlog", "Neighbors", "Wide", "Rolling", "Nodes", "Flapping", "Beside"}
}

// loopGoals returns the goals of all parts.
func (r *results) loopGoals() []goal {
	var goals []goal
	for _, name := range loopParts() {
		goals = append(goals, r.parts[name].goals...)
	}
	return goals
}
