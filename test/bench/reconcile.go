package main

import (
	"context"
	"fmt"
)

// reconcileCost is the CPU time, in seconds, and the number of requests per reconcile.
type reconcileCost struct{ cpu, requests float64 }

// measureReconcile measures the cost of a reconcile with one other object, and with many. It keeps the objects.
func (b *bench) measureReconcile(ctx context.Context) []goal {
	objects, podsEach := sized(b, 1000, 5), sized(b, 5, 2)
	s := b.ours()
	w := b.watchRun(ctx, s, "others")
	b.makeObjects(ctx, s, "few", 2, 0)
	l := b.launch(ctx, s)
	defer l.stop()
	one := b.changeOne(ctx, s, l, "few-0")
	b.makeObjects(ctx, s, "others", objects, podsEach)
	w.untilReady(ctx, objects*podsEach)
	b.settle(ctx, s, l, b.audit.end(), veryQuiet)
	many := b.changeOne(ctx, s, l, "few-1")
	cost := ratio{fmt.Sprintf("%%.2f × (%.1f and %.1f requests)", many.requests, one.requests), many.cpu / one.cpu}
	what := fmt.Sprintf("processor time of a reconcile with %d other objects, beside 1", objects+1)
	return []goal{ratioGoal(what, 1.10, cost)}
}

// changeOne scales an object back and forth, and returns the cost per reconcile.
func (b *bench) changeOne(ctx context.Context, s subject, l *loop, name string) reconcileCost {
	w := b.watchRun(ctx, s, "few")
	b.watchOwner(ctx, w, s, name)
	w.untilReported(ctx, 0)
	before := b.stateOf(s, l)
	for change := range sized(b, 30, 2) {
		n := (change + 1) % 2
		b.setReplicas(ctx, s, name, n)
		w.untilReported(ctx, n)
	}
	after := b.settle(ctx, s, l, before.place, quiet)
	reconciles := after.reconciles - before.reconciles
	return reconcileCost{(after.usage.cpu - before.usage.cpu) / reconciles, float64(after.counts.sum()) / reconciles}
}
