package main

import (
	"context"
	"fmt"
	"time"
)

// measureBacklog measures how long a change takes while a new loop creates many pods.
func (b *bench) measureBacklog(ctx context.Context, todo loopAgenda) (p part, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	const ns = "bench-backlog"
	if err := b.makeNamespaces(ctx, []string{ns}); err != nil {
		return p, err
	}
	if err := b.makeObjectsIn(ctx, ns, "backlog", todo.backlog, 1); err != nil {
		return p, err
	}
	if err := b.makeObjectsIn(ctx, ns, probe, todo.backlogChanges, 0); err != nil {
		return p, err
	}
	w, err := b.watchRunIn(ctx, ns, "backlog", nil)
	if err != nil {
		return p, err
	}
	probed, err := b.watchRunIn(ctx, ns, probe, nil)
	if err != nil {
		return p, err
	}
	l, err := b.launch(ctx, b.ours("-n", ns))
	if err != nil {
		return p, err
	}
	defer l.stop()
	if _, err := w.until(ctx, "the first pod is there", func() bool { return len(w.created) > 0 }); err != nil {
		return p, fmt.Errorf("%w; output of the loop: %s", err, l.words())
	}
	var seconds []float64
	for i := range todo.backlogChanges {
		start := time.Now()
		if err := b.setReplicasIn(ctx, b.ours(), ns, fmt.Sprintf("%s-%d", probe, i), 1); err != nil {
			return p, err
		}
		there, err := probed.until(ctx, "the pod is there", func() bool { return len(probed.created) > i })
		if err != nil {
			return p, fmt.Errorf("%w; output of the loop: %s", err, l.words())
		}
		seconds = append(seconds, there.Sub(start).Seconds())
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return p, err
		}
	}
	p.hold(0.5, figure{"change during the startup: to the first pod", "%.2f", " s", seconds})
	return p, nil
}
