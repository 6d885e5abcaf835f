package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// size is a number of pods. Each run creates this number of pods, and deletes them.
type size struct {
	pods int
	// rounds is the number of rounds. shipped is the number of rounds that also measure the unchanged
	// ReplicaSet controller, which creates 20 pods per second.
	rounds, shipped int
	// growth means that only raw requests and our loop run at this size, to measure how the time grows.
	growth bool
}

func (b *bench) sizes() []size {
	return sized(b, []size{
		{pods: 1, rounds: 3, shipped: 3},
		{pods: 100, rounds: 3, shipped: 1},
		{pods: 300, rounds: 3, growth: true},
		{pods: 500, rounds: 7, shipped: 1},
		{pods: 1000, rounds: 5},
		{pods: 3000, rounds: 2},
	}, []size{{pods: 1, rounds: 1, shipped: 1}, {pods: 15, rounds: 1, growth: true}, {pods: 30, rounds: 1}})
}

// sample is one run of a subject from zero to a number of pods and back.
type sample struct {
	subject     string
	concurrency int // of raw requests
	pods        int
	// up is the change from zero to pods, and down is the change back to zero.
	up, down way
}

// way holds the measurements of one change of the number of pods.
type way struct {
	// done is the time from the request until all pods are created or deleted. status is the time until the owner's
	// status shows the new number of ready pods, or zero if the subject has no program.
	done, status time.Duration
	// counts holds the requests except events, leases, and watches. events is the number of event writes.
	counts counts
	events int
}

func created(s sample) float64 { return s.up.done.Seconds() }
func gone(s sample) float64    { return s.down.done.Seconds() }

// compareScaling runs the subjects alternately at each size. Every second round runs in reverse
// order, so that drift affects all subjects equally.
func (b *bench) compareScaling(ctx context.Context) []goal {
	// Every round sends raw requests at each of these concurrencies.
	concurrencies := sized(b, []int{32, 64, 128}, []int{4, 8})
	var all samples
	for _, size := range b.sizes() {
		for round := range size.rounds {
			var subjects []subject
			for _, concurrency := range concurrencies {
				subjects = append(subjects, raw(concurrency))
			}
			if !size.growth {
				subjects = append(subjects, b.lifted())
			}
			subjects = append(subjects, b.ours())
			if round < size.shipped {
				subjects = append(subjects, b.shipped())
			}
			if round%2 == 1 {
				slices.Reverse(subjects)
			}
			for _, s := range subjects {
				one := b.scale(ctx, s, fmt.Sprintf("run-%d", len(all)), size.pods)
				say("%5d pods, %-25s %3d at once: created %6.2f s, gone %6.2f s",
					size.pods, s.name, s.concurrency, created(one), gone(one))
				all = append(all, one)
			}
		}
	}
	return slices.Concat(all.speed(b.sizes()), all.counted())
}

// scale creates an object, scales it up and down, and deletes it.
func (b *bench) scale(ctx context.Context, s subject, run string, pods int) sample {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	owner := b.create(ctx, s, s.owner(run, 0))
	w := b.watchRun(ctx, s, run)
	b.watchOwner(ctx, w, s, run)
	l := b.launch(ctx, s)
	defer l.stop()
	to := func(n int) func() { return func() { b.setReplicas(ctx, s, run, n) } }
	create, remove := to(pods), to(0)
	if s.program == nil {
		create = func() { b.createPods(ctx, s.concurrency, run, owner, pods) }
		remove = func() { b.deletePods(ctx, s, run) }
	} else {
		w.untilReported(ctx, 0)
	}
	one := sample{subject: s.name, concurrency: s.concurrency, pods: pods}
	one.up = b.change(ctx, s, w, l, create, pods)
	one.down = b.change(ctx, s, w, l, remove, 0)
	l.stop()
	b.delete(ctx, s, run)
	return one
}

// change calls start, waits for the number of pods, and returns the measurements.
func (b *bench) change(ctx context.Context, s subject, w *witness, l *loop, start func(), pods int) (one way) {
	before := b.stateOf(s, l)
	began := time.Now()
	start()
	done := w.untilReady(ctx, pods)
	if s.program != nil {
		one.status = w.untilReported(ctx, pods).Sub(began)
	}
	if pods > 0 {
		w.note(func(time.Time) { done = w.created[pods-1] })
	}
	after := b.settle(ctx, s, l, before.place, quiet)
	one.done, one.counts, one.events = done.Sub(began), after.counts, after.events
	return one
}

func (b *bench) deletePods(ctx context.Context, s subject, run string) {
	list := must(b.witness.core.Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: runLabel + "=" + run}))
	parallel(s.concurrency, len(list.Items), func(i int) {
		uid := string(list.Items[i].UID)
		opts := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(uid)}
		check(b.account.core.Pods(namespace).Delete(ctx, list.Items[i].Name, opts))
	})
}

// state holds the requests and the resource usage of a subject up to a certain time.
type state struct {
	place      int64 // in the audit log
	usage      usage
	reconciles float64
	// counts and events hold the requests of the subject since an earlier position in the audit log.
	counts counts
	events int
}

func (b *bench) stateOf(s subject, l *loop) state {
	now := state{place: b.audit.end()}
	if s.program != nil {
		now.usage = l.usage()
	}
	if s.name == nameOurs {
		now.reconciles = must(l.reconciles())
	}
	return now
}

// A subject is idle when it has sent nothing for one of these times. Use veryQuiet if the subject
// may delay a status write by a second.
const (
	quiet     = 400 * time.Millisecond
	veryQuiet = 3 * time.Second
)

// settle waits until a subject has sent only lease renewals for the given time. It returns the
// state with the requests since a position in the audit log.
func (b *bench) settle(ctx context.Context, s subject, l *loop, place int64, quiet time.Duration) state {
	for sent := -1; ; pause(ctx, quiet) {
		requests := slices.DeleteFunc(b.audit.since(place, s.agent), func(r request) bool {
			return r.Object.Resource == "leases" || r.Object.Resource == s.resource.Resource && r.UserAgent == "bench"
		})
		if len(requests) > sent {
			sent = len(requests)
			continue
		}
		now := b.stateOf(s, l)
		now.counts = count(requests, func(r request) bool { return r.Object.Resource != "events" && r.Verb != "watch" })
		now.events = count(requests, func(r request) bool { return r.writes() && r.Object.Resource == "events" }).sum()
		return now
	}
}

type samples []sample

// of returns a value for each run of a subject at a size. For raw requests, it uses the runs at the
// concurrency with the lowest median.
func (all samples) of(subject string, pods int, value func(sample) float64) []float64 {
	byConcurrency := map[int][]float64{}
	for _, s := range all {
		if s.subject == subject && s.pods == pods {
			byConcurrency[s.concurrency] = append(byConcurrency[s.concurrency], value(s))
		}
	}
	var best []float64
	for _, values := range byConcurrency {
		if best == nil || spreadOf(values).median < spreadOf(best).median {
			best = values
		}
	}
	return best
}

// speed returns the goals for the time that scaling takes.
func (all samples) speed(sizes []size) []goal {
	// Compare the loop with other subjects at the sizes ≥ large, or at the last size if all are smaller.
	const large = 500
	var compared []int
	small, big := 0, sizes[len(sizes)-1].pods
	for _, s := range sizes {
		switch {
		case s.growth:
			small = s.pods
		case s.pods >= min(large, big):
			compared = append(compared, s.pods)
		}
	}
	ratios := func(value func(sample) float64, other string) (list []ratio) {
		for _, pods := range compared {
			format := fmt.Sprintf("%%.2f × at %d", pods)
			list = append(list, beside(format, all.of(nameOurs, pods, value), all.of(other, pods, value)))
		}
		return list
	}
	goals := []goal{
		ratioGoal("created, beside the best raw requests", 1.10, ratios(created, nameFloor)...),
		ratioGoal("created, beside a ReplicaSet with its limits lifted", 1.05, ratios(created, nameLifted)...),
		ratioGoal("gone, beside the best raw deletes", 1.10, ratios(gone, nameFloor)...),
	}
	if shipped := all.of(nameShipped, large, created); len(shipped) > 0 {
		faster := beside("%.1f × faster", shipped, all.of(nameOurs, large, created))
		goals = append(goals, goal{
			what: fmt.Sprintf("created, beside a ReplicaSet as shipped, at %d", large), wanted: "≥ 15 × faster",
			measured: fmt.Sprintf(faster.format, faster.value), held: faster.value >= 15, lenient: true,
		})
	}
	at := func(pods int) float64 {
		return beside("", all.of(nameOurs, pods, created), all.of(nameFloor, pods, created)).value
	}
	what := fmt.Sprintf("time per pod at %d beside that at %d, each divided by the floor", big, small)
	return append(goals, ratioGoal(what, 1.30, ratio{"%.2f ×", at(big) / at(small)}))
}

// counted returns the goals for the numbers of requests. Every run of our loop must meet these goals.
func (all samples) counted() []goal {
	creates, deletes, statuses, events := true, true, true, 0
	mostStatuses, allowed := 0, 0
	for _, s := range all {
		if s.subject != nameOurs {
			continue
		}
		creates = creates && s.up.counts["create pods"] == s.pods && s.up.counts["delete pods"] == 0
		deletes = deletes && s.down.counts["delete pods"] == s.pods && s.down.counts["create pods"] == 0
		for _, way := range []way{s.up, s.down} {
			most, writes := 3+int(way.status.Seconds()), way.counts.statusWrites()
			statuses = statuses && writes <= most
			if writes > mostStatuses {
				mostStatuses, allowed = writes, most
			}
			events = max(events, way.events)
		}
	}
	in := func(all bool) string {
		if all {
			return "in every run"
		}
		return "not in every run"
	}
	return []goal{
		{what: "exactly as many creates as pods", wanted: "in every run", measured: in(creates), held: creates},
		{what: "exactly as many deletes as pods", wanted: "in every run", measured: in(deletes), held: deletes},
		{what: "status writes of a scale", wanted: "≤ 3 + one per second", held: statuses,
			measured: fmt.Sprintf("%s; %d at the most, where %d were allowed", in(statuses), mostStatuses, allowed)},
		{what: "event writes of a scale", wanted: "≤ 5",
			measured: fmt.Sprintf("%d at the most", events), held: events <= 5},
	}
}
