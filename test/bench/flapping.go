package main

import (
	"context"
	"fmt"
	"math"
	"time"
)

// The replica count of an object alternates between these numbers at this interval.
const (
	flapFew, flapMany = 5, 15
	flapPeriod        = 50 * time.Millisecond
)

// flapBurst is the allowed number of immediate status writes before throttling.
const flapBurst = 5

const flappingNamespace = "bench-flapping"

// measureFlapping changes a replica count continuously, counts the status writes and pods of the
// loop, and measures how soon the status is correct again.
func (b *bench) measureFlapping(ctx context.Context) []goal {
	const run, name = "flapping", "flapping-0"
	s := b.oursIn(flappingNamespace)
	b.makeNamespaces(ctx, s.namespace)
	w := b.watchRun(ctx, s, run)
	b.makeObjects(ctx, s, run, 1, flapFew)
	b.watchOwner(ctx, w, s, name)
	l := b.launch(ctx, s)
	defer l.stop()
	w.untilSaid(ctx, flapFew)
	before, start := b.stateOf(s, l), time.Now()
	last, end := b.flap(ctx, s, name, sized(b, 30*time.Second, 5*time.Second))
	converged := w.untilSaid(ctx, last)
	writes := b.settle(ctx, s, l, before.place, quiet).counts.statusWrites()
	took := converged.Sub(start).Seconds()
	return []goal{
		medianGoal("flapping count: from the last change to the correct status", 2, "%.2f", " s",
			converged.Sub(end).Seconds()),
		{what: "flapping count: status writes", wanted: fmt.Sprintf("≤ 1 per second after the first %d", flapBurst),
			measured: fmt.Sprintf("%d in %.1f s", writes, took), held: writes <= flapBurst+int(math.Ceil(took))},
		{what: "flapping count: pods at once", wanted: fmt.Sprintf("≤ %d", flapMany),
			measured: fmt.Sprint(w.most), held: w.most <= flapMany},
	}
}

// flap changes the replica count of an object for d. It returns the final count and the time of the
// last change.
func (b *bench) flap(ctx context.Context, s subject, name string, d time.Duration) (last int, at time.Time) {
	ticker := time.NewTicker(flapPeriod)
	defer ticker.Stop()
	changes := 0
	for end := time.Now().Add(d); time.Now().Before(end); changes++ {
		last = flapFew
		if changes%2 == 0 {
			last = flapMany
		}
		at = time.Now()
		b.setReplicas(ctx, s, name, last)
		<-ticker.C
	}
	return last, at
}
