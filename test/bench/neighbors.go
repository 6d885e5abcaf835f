package main

import (
	"context"
	"fmt"
	"time"
)

// measureNeighbors scales many objects by one pod, one after the other. It does so
// while nothing else happens, and again while one object gets very many pods.
func (b *bench) measureNeighbors(ctx context.Context, todo loopAgenda) (p part, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	const ns, run = "bench-neighbors", "neighbor"
	if err := b.makeNamespaces(ctx, []string{ns}); err != nil {
		return p, err
	}
	big, err := b.watchRunIn(ctx, ns, "big", nil)
	if err != nil {
		return p, err
	}
	others, err := b.watchRunIn(ctx, ns, run, nil)
	if err != nil {
		return p, err
	}
	l, err := b.launch(ctx, b.ours("-n", ns))
	if err != nil {
		return p, err
	}
	defer l.stop()
	if err := b.makeObjectsIn(ctx, ns, "big", 1, 0); err != nil {
		return p, err
	}
	if err := b.makeObjectsIn(ctx, ns, run, todo.others, 1); err != nil {
		return p, err
	}
	if _, err := others.until(ctx, "all pods are ready", func() bool { return others.ready == todo.others }); err != nil {
		return p, fmt.Errorf("%w; output of the loop: %s", err, l.words())
	}
	if err := untilStill(ctx, l); err != nil {
		return p, err
	}
	alone, err := b.changeNeighbors(ctx, ns, run, todo.others, 2, others)
	if err != nil {
		return p, err
	}
	if err := b.setReplicasIn(ctx, b.ours(), ns, "big-0", todo.bigPods); err != nil {
		return p, err
	}
	if _, err := big.until(ctx, "the big one is under way", func() bool { return len(big.created) > todo.bigPods/20 }); err != nil {
		return p, err
	}
	beside, err := b.changeNeighbors(ctx, ns, run, todo.others, 3, others)
	if err != nil {
		return p, fmt.Errorf("%w; output of the loop: %s", err, l.words())
	}
	p.beside(fmt.Sprintf("change by one, while another object gets %d pods: to the new pod, beside alone", todo.bigPods), beside, alone, 2)
	return p, nil
}

// changeNeighbors scales objects up by one pod, one after the other, and returns the
// seconds until each had its pod.
func (b *bench) changeNeighbors(ctx context.Context, ns, run string, n, to int, w *witness) (took []float64, err error) {
	for i := range n {
		start := time.Now()
		if err := b.setReplicasIn(ctx, b.ours(), ns, fmt.Sprintf("%s-%d", run, i), to); err != nil {
			return nil, err
		}
		there, err := w.until(ctx, "the pod is there", func() bool { return len(w.created) == (to-1)*n+i+1 })
		if err != nil {
			return nil, err
		}
		took = append(took, there.Sub(start).Seconds())
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
	return took, nil
}
