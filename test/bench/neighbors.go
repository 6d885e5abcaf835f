package main

import (
	"context"
	"fmt"
	"time"
)

// measureNeighbors scales many objects by one pod, one after the other: first without other work,
// and then while one object gets very many pods.
func (b *bench) measureNeighbors(ctx context.Context) []goal {
	bigPods, others := sized(b, 10_000, 60), sized(b, 100, 4)
	s := b.oursIn("bench-neighbors")
	b.makeNamespaces(ctx, s.namespace)
	big, w := b.watchRun(ctx, s, "big"), b.watchRun(ctx, s, neighbor)
	l := b.launch(ctx, s)
	defer l.stop()
	b.makeObjects(ctx, s, "big", 1, 0)
	b.makeObjects(ctx, s, neighbor, others, 1)
	w.untilReady(ctx, others)
	l.untilStill(ctx)
	alone := b.changeNeighbors(ctx, s, others, 2, w)
	b.setReplicas(ctx, s, "big-0", bigPods)
	big.untilCreated(ctx, bigPods/20+1)
	busy := b.changeNeighbors(ctx, s, others, 3, w)
	what := fmt.Sprintf("change by one, while another object gets %d pods: to the new pod, beside alone", bigPods)
	return []goal{ratioGoal(what, 2, beside("%.2f ×", busy, alone))}
}

// neighbor is the name prefix of the changing objects, and the run label of their pods.
const neighbor = "neighbor"

// changeNeighbors scales objects up by one pod, one after the other, and returns the seconds until
// each object had its new pod.
func (b *bench) changeNeighbors(ctx context.Context, s subject, n, to int, w *witness) (took []float64) {
	for i := range n {
		start := time.Now()
		b.setReplicas(ctx, s, fmt.Sprintf("%s-%d", neighbor, i), to)
		there := w.untilCreated(ctx, (to-1)*n+i+1)
		took = append(took, there.Sub(start).Seconds())
		pause(ctx, 20*time.Millisecond)
	}
	return took
}
