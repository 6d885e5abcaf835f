package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// question is a question about the program, and the measurement that answers it.
type question struct {
	name    string
	measure func(context.Context) []goal
	// place is the position of the goals in the report.
	place int
	// limit is the timeout of the measurement.
	limit time.Duration
	// emptied is the namespace to empty afterwards, or "".
	emptied string
}

// questions returns the questions of a part, in the order of measurement.
//
// In the part "loop", the questions before Wide delete their objects, because the loop in Wide sees all namespaces.
// Wide and the later questions keep their objects, because deletion takes as long as creation, and later loops see
// only their own namespace.
func (b *bench) questions(part string) []question {
	// short is about twice the time that a question about the loop takes on two cores.
	const short, long = 5 * time.Minute, time.Hour
	switch part {
	case "commands":
		return []question{
			{name: "Program", measure: b.measureProgram, place: 4, limit: long},
			{name: "Commands", measure: b.compareScales, place: 3, limit: long},
			{name: "Scaling", measure: b.compareScaling, place: 1, limit: long},
			{name: "Reconcile", measure: b.measureReconcile, place: 2, limit: long},
		}
	case "following":
		return []question{
			{name: "While the pods come up", measure: b.compareFollowing, place: 1, limit: long},
			{name: "A single look", measure: b.compareLooks, place: 3, limit: long},
			{name: "After the last pod is ready", measure: b.measureEndings, place: 2, limit: long},
			{name: "Many pods", measure: b.measureMany, place: 4, limit: long},
		}
	case "loop":
		return []question{
			{name: "Nodes", measure: b.measureNodes, place: 6, limit: short, emptied: nodesNamespace},
			{name: "Rolling", measure: b.measureRolling, place: 5, limit: short, emptied: rollingNamespace},
			// On two cores with a cold cache, Wide takes up to ten minutes.
			{name: "Wide", measure: b.measureWide, place: 4, limit: 3 * short},
			{name: "Failover", measure: b.measureFailover, place: 1, limit: short},
			{name: "Backlog", measure: b.measureBacklog, place: 2, limit: short},
			{name: "Neighbors", measure: b.measureNeighbors, place: 3, limit: short},
		}
	}
	check(fmt.Errorf("unknown part %q", part))
	return nil
}

// answer answers the selected questions of a part, or all if none is selected. It writes the goals to
// the section of the part, and fails if a goal that is not lenient is missed.
func (b *bench) answer(ctx context.Context, part string, only []string, document string) {
	questions := b.questions(part)
	if len(only) > 0 {
		questions = slices.DeleteFunc(questions, func(q question) bool { return !slices.Contains(only, q.name) })
	}
	report := b.describe(ctx)
	answers := map[string][]goal{}
	for _, q := range questions {
		answers[q.name] = b.ask(ctx, q)
	}
	slices.SortFunc(questions, func(x, y question) int { return cmp.Compare(x.place, y.place) })
	var all []goal
	for _, q := range questions {
		all = append(all, answers[q.name]...)
	}
	report.write(document, part, goalTable(all))
	check(missed(all))
}

// ask measures the answer to a question, and then empties the namespace q.emptied. If the
// measurement fails, the answer is a missed goal.
func (b *bench) ask(ctx context.Context, q question) (goals []goal) {
	began := time.Now()
	limited, cancel := context.WithTimeoutCause(ctx, q.limit, fmt.Errorf("timed out after %s", q.limit))
	defer cancel()
	err := attempt(func() { goals = q.measure(limited) })
	check(context.Cause(ctx))
	if err != nil {
		say("%s failed: %v\n%s", q.name, err, b.lastOutput())
		line, _, _ := strings.Cut(err.Error(), "\n")
		goals = []goal{{
			what: fmt.Sprintf("all measurements of %q", q.name), wanted: "done",
			measured: fmt.Sprintf("failed: %.200s", line),
		}}
	}
	if q.emptied != "" {
		if err := attempt(func() { b.empty(ctx, q.emptied) }); err != nil {
			say("cannot clean up after %s: %v", q.name, err)
		}
	}
	for _, g := range goals {
		say("%s: %s", g.what, g.measured)
	}
	say("%s took %.0f s", q.name, time.Since(began).Seconds())
	return goals
}

// empty deletes the ImoocPods, MyDaemonSets, and pods of a namespace, without a grace period.
func (b *bench) empty(ctx context.Context, namespace string) {
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	var failed []error
	for _, resource := range []schema.GroupVersionResource{imoocPods(), myDaemonSets(), pods} {
		objects := b.witness.dynamic.Resource(resource).Namespace(namespace)
		failed = append(failed, objects.DeleteCollection(ctx, atZero(), metav1.ListOptions{}))
	}
	check(errors.Join(failed...))
}

// atZero returns the options to delete pods immediately.
func atZero() metav1.DeleteOptions { return metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))} }
