package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// limit describes a measurement with very many namespaces, kinds, objects, or pods.
type limit struct {
	name string // also the run label of its pods
	what string
	// namespaces are created first. pods is the final number of pods.
	namespaces []string
	pods       int
	// make creates the objects while a loop runs. The field loop holds the arguments of the loop.
	make func(ctx context.Context)
	loop string
	// then lists the commands to measure after the loop has stopped.
	then []string
}

func (b *bench) limits() []limit {
	objects, pods, kinds, namespaces := sized(b, 10_000, 20), sized(b, 10_000, 30), sized(b, 200, 3), sized(b, 500, 3)
	spread := make([]string, namespaces)
	for i := range spread {
		spread[i] = fmt.Sprintf("limit-%d", i)
	}
	const once = "run-controller --once --timeout 30m "
	return []limit{
		{
			name: "namespaces", what: fmt.Sprintf("%d namespaces, an object of 1 pod in each", namespaces),
			namespaces: spread, pods: namespaces,
			make: func(ctx context.Context) {
				parallel(atOnce, namespaces, func(i int) {
					s := b.ours().in(spread[i])
					b.create(ctx, s, s.owner("namespaces", 1))
				})
			},
			loop: "-A",
			then: []string{once + "-A", once + "-n " + strings.Join(spread, ","), "status -A"},
		},
		{
			name: "kinds", what: fmt.Sprintf("%d declared kinds, an object of 1 pod of each", kinds),
			namespaces: []string{"limit-kinds"}, pods: kinds,
			make: func(ctx context.Context) {
				b.declareKinds(ctx, kinds)
				parallel(atOnce, kinds, func(i int) { b.makeDeclared(ctx, i, "limit-kinds", "kinds") })
			},
			loop: "--declared-kinds -n limit-kinds",
			then: []string{once + "--declared-kinds -n limit-kinds", "kinds"},
		},
		{
			name: "objects", what: fmt.Sprintf("%d objects of 1 pod", objects),
			namespaces: []string{"limit-objects"}, pods: objects,
			make: func(ctx context.Context) { b.makeObjects(ctx, b.ours().in("limit-objects"), "objects", objects, 1) },
			loop: "-n limit-objects",
			then: []string{once + "-n limit-objects", "status -n limit-objects"},
		},
		{
			name: "pods", what: fmt.Sprintf("one object of %d pods", pods),
			namespaces: []string{"limit-pods"}, pods: pods,
			make: func(ctx context.Context) { b.makeObjects(ctx, b.ours().in("limit-pods"), "pods", 1, pods) },
			loop: "-n limit-pods",
			then: []string{once + "-n limit-pods", "status pods-0 -n limit-pods"},
		},
	}
}

// measureLimits measures the limits, and writes the results to a section of a document.
func (b *bench) measureLimits(ctx context.Context, document string) {
	report := b.describe(ctx)
	var rows [][]string
	for _, l := range b.limits() {
		rows = append(rows, b.measureLimit(ctx, l)...)
	}
	header := []string{"", "command", "seconds", "CPU seconds", "peak MiB", "requests"}
	report.write(document, "limits", table(2, header, rows))
}

// measureLimit measures a limit, and returns the rows: one for the loop, and one for each command.
func (b *bench) measureLimit(ctx context.Context, l limit) [][]string {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b.makeNamespaces(ctx, l.namespaces...)
	rows := [][]string{b.makeLimit(ctx, l)}
	for _, command := range l.then {
		place := b.audit.end()
		t := b.time(ctx, append([]string{b.plugin}, strings.Fields(command)...)...)
		rows = append(rows, b.limitRow("", command, t.Wall, usage{cpu: t.CPU.Seconds(), peak: uint64(max(t.Peak, 0))}, place))
	}
	return rows
}

// makeLimit runs a loop until all pods are ready, and returns the row of the loop.
func (b *bench) makeLimit(ctx context.Context, l limit) []string {
	watched := metav1.NamespaceAll
	if len(l.namespaces) == 1 {
		watched = l.namespaces[0]
	}
	w := b.watch(ctx, watched, runLabel+"="+l.name)
	place := b.audit.end()
	running := b.launch(ctx, b.ours(strings.Fields(l.loop)...))
	defer running.stop()
	start := time.Now()
	l.make(ctx)
	took := w.untilReady(ctx, l.pods).Sub(start)
	running.untilStill(ctx)
	return b.limitRow(l.what, "run-controller "+l.loop, took, running.usage(), place)
}

// limitRow returns the row of a command. place is the position in the audit log at which the command started.
func (b *bench) limitRow(what, command string, took time.Duration, used usage, place int64) []string {
	requests := count(b.audit.since(place, b.ours().agent), func(r request) bool { return r.Object.Resource != "leases" })
	row := []string{
		what, shorten(command), fmt.Sprintf("%.1f", took.Seconds()), fmt.Sprintf("%.1f", used.cpu),
		fmt.Sprint(used.peak >> 20), fmt.Sprint(requests.sum()),
	}
	say("seconds, CPU seconds, peak MiB, requests: %s", strings.Join(row[1:], " "))
	return row
}

// shorten abbreviates the list of namespaces in a command, and omits the timeout.
func shorten(command string) string {
	words := strings.Fields(strings.ReplaceAll(command, " --timeout 30m", ""))
	for i, word := range words {
		if namespaces := strings.Count(word, ",") + 1; namespaces > 1 {
			words[i] = fmt.Sprintf("(all %d)", namespaces)
		}
	}
	return "`" + strings.Join(words, " ") + "`"
}
