package main

import (
	"context"
	"fmt"
)

// measureNeighbors scales many objects by one pod, one after the other: first without other work,
// and then while one object gets very many pods.
func (b *bench) measureNeighbors(ctx context.Context) []goal {
	bigPods, others := sized(b, 10_000, 60), sized(b, 100, 4)
	s := b.oursIn(ctx, "bench-neighbors")
	big, w := b.watchRun(ctx, s, "big"), b.watchRun(ctx, s, probe)
	l := b.launch(ctx, s)
	defer l.stop()
	b.makeObjects(ctx, s, "big", 1, 0)
	b.makeObjects(ctx, s, probe, others, 1)
	w.untilReady(ctx, others)
	l.untilStill(ctx)
	alone := b.addOneEach(ctx, s, probe, others, 2, w)
	b.setReplicas(ctx, s, "big-0", bigPods)
	big.untilCreated(ctx, bigPods/20+1)
	busy := b.addOneEach(ctx, s, probe, others, 3, w)
	what := fmt.Sprintf("change by one, while another object gets %d pods: to the new pod, beside alone", bigPods)
	return []goal{ratioGoal(what, 2, beside("%.2f ×", busy, alone))}
}
