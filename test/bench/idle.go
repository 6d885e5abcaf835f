package main

import (
	"context"
	"fmt"
	"time"
)

// stillness is the work that a converged loop does in a time window.
type stillness struct {
	reconciles float64
	writes     int // except lease renewals
}

func (s stillness) work() float64 { return s.reconciles + float64(s.writes) }

// reconcileCost is the CPU time, in seconds, and the number of requests per reconcile.
type reconcileCost struct{ cpu, requests float64 }

// measureIdle measures a loop with many small objects, which it does not delete.
func (b *bench) measureIdle(ctx context.Context) []goal {
	objects, podsEach, window := sized(b, 1000, 5), sized(b, 5, 2), sized(b, time.Minute, 2*time.Second)
	s := b.ours()
	w := b.watchRun(ctx, s, "idle")
	b.makeObjects(ctx, s, "few", 2, 0)
	l := b.launch(ctx, s)
	defer l.stop()
	one := b.changeOne(ctx, s, l, "few-0")
	b.makeObjects(ctx, s, "idle", objects, podsEach)
	w.untilReady(ctx, objects*podsEach)
	still := b.lookOn(ctx, s, l, window)
	many := b.changeOne(ctx, s, l, "few-1")
	l.stop()

	// Restart the loop while there is nothing to do.
	place := b.audit.end()
	again := b.launch(ctx, s)
	defer again.stop()
	again.untilReconciled(ctx, 1)
	rewrites := b.settle(ctx, s, again, place, veryQuiet).writes
	restarted := b.lookOn(ctx, s, again, window/2)

	cost := ratio{fmt.Sprintf("%%.2f × (%.1f and %.1f requests)", many.requests, one.requests), many.cpu / one.cpu}
	return []goal{
		ratioGoal(fmt.Sprintf("processor time of a reconcile with %d other objects, beside 1", objects+1), 1.10, cost),
		{what: fmt.Sprintf("reconciles and writes with %d converged pods", objects*podsEach), wanted: "0",
			measured: fmt.Sprintf("%.0f in %.0f s", still.work(), window.Seconds()), held: still.work() == 0},
		{what: "writes of a loop that is started again", wanted: "0",
			measured: fmt.Sprintf("%d at the start, %.0f later", rewrites, restarted.work()),
			held:     rewrites == 0 && restarted.work() == 0},
	}
}

// lookOn waits until a loop is idle, and then measures its work in a time window.
func (b *bench) lookOn(ctx context.Context, s subject, l *loop, window time.Duration) stillness {
	before := b.settle(ctx, s, l, b.audit.end(), veryQuiet)
	pause(ctx, window)
	after := b.stateOf(s, l)
	writes := count(b.audit.since(before.place, s.agent), func(r request) bool {
		return r.writes() && r.Object.Resource != "leases"
	})
	return stillness{after.reconciles - before.reconciles, writes.sum()}
}

// changeOne scales an object back and forth, and returns the cost per reconcile.
func (b *bench) changeOne(ctx context.Context, s subject, l *loop, name string) reconcileCost {
	w := b.watchRun(ctx, s, "few")
	b.watchOwner(ctx, w, s, name)
	w.untilSaid(ctx, 0)
	before := b.stateOf(s, l)
	for change := range sized(b, 30, 2) {
		n := (change + 1) % 2
		b.setReplicas(ctx, s, name, n)
		w.untilSaid(ctx, n)
	}
	after := b.settle(ctx, s, l, before.place, quiet)
	reconciles := after.reconciles - before.reconciles
	return reconcileCost{(after.usage.cpu - before.usage.cpu) / reconciles, float64(after.counts.sum()) / reconciles}
}
