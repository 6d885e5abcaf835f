package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// measureNeighbors scales many objects by one pod, one after the other: first
// while nothing else happens, then while one object gets very many pods.
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
	alone, aloneRaw, err := b.changeNeighbors(ctx, ns, run, todo.others, 2, others)
	if err != nil {
		return p, err
	}
	if err := b.setReplicasIn(ctx, b.ours(), ns, "big-0", todo.bigPods); err != nil {
		return p, err
	}
	if _, err := big.until(ctx, "the big one is under way", func() bool { return len(big.created) > todo.bigPods/20 }); err != nil {
		return p, err
	}
	beside, besideRaw, err := b.changeNeighbors(ctx, ns, run, todo.others, 3, others)
	if err != nil {
		return p, fmt.Errorf("%w; output of the loop: %s", err, l.words())
	}
	done := 0
	big.note(func(time.Time) { done = len(big.created) })
	p.add("change by one, alone: to the new pod", "%.0f", " ms", alone...)
	slow := p.add(fmt.Sprintf("change by one, while another object gets %d pods: to the new pod", todo.bigPods), "%.0f", " ms", beside...)
	p.add("raw create of a pod, alone", "%.0f", " ms", aloneRaw...)
	p.add("raw create of a pod, while the other object gets its pods", "%.0f", " ms", besideRaw...)
	p.add("pods of the other object that exist when the last change is done", "%.0f", "", float64(done))
	p.beside(slow.what+", beside alone", beside, alone, 2)
	return p, nil
}

// changeNeighbors scales objects up by one pod, one after the other. It returns
// the milliseconds until each had its pod, and those of a raw create by the same
// user before each.
func (b *bench) changeNeighbors(ctx context.Context, ns, run string, n, to int, w *witness) (took, raw []float64, err error) {
	pod, err := podOf("raw")
	if err != nil {
		return nil, nil, err
	}
	milliseconds := func(since, until time.Time) float64 { return until.Sub(since).Seconds() * 1000 }
	for i := range n {
		one := pod.DeepCopy()
		one.Name = fmt.Sprintf("raw-%d-%d", to, i)
		start := time.Now()
		if _, err := b.account.core.Pods(ns).Create(ctx, one, metav1.CreateOptions{}); err != nil {
			return nil, nil, err
		}
		raw = append(raw, milliseconds(start, time.Now()))
		start = time.Now()
		if err := b.setReplicasIn(ctx, b.ours(), ns, fmt.Sprintf("%s-%d", run, i), to); err != nil {
			return nil, nil, err
		}
		there, err := w.until(ctx, "the pod is there", func() bool { return len(w.created) == (to-1)*n+i+1 })
		if err != nil {
			return nil, nil, err
		}
		took = append(took, milliseconds(start, there))
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return nil, nil, err
		}
	}
	return took, raw, nil
}
