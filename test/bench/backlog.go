package main

import (
	"context"
	"fmt"
	"time"
)

// probe is the name prefix of the objects that change, and the run label of their pods.
const probe = "probe"

// measureBacklog measures how long a new loop takes to act on a change while it creates many pods.
func (b *bench) measureBacklog(ctx context.Context) []goal {
	changes := sized(b, 20, 2)
	s := b.oursIn("bench-backlog")
	b.makeNamespaces(ctx, s.namespace)
	b.makeObjects(ctx, s, "backlog", sized(b, 5000, 20), 1)
	b.makeObjects(ctx, s, probe, changes, 0)
	w, probed := b.watchRun(ctx, s, "backlog"), b.watchRun(ctx, s, probe)
	l := b.launch(ctx, s)
	defer l.stop()
	w.untilCreated(ctx, 1)
	var seconds []float64
	for i := range changes {
		start := time.Now()
		b.setReplicas(ctx, s, fmt.Sprintf("%s-%d", probe, i), 1)
		seconds = append(seconds, probed.untilCreated(ctx, i+1).Sub(start).Seconds())
		pause(ctx, 100*time.Millisecond)
	}
	return []goal{medianGoal("change during the startup: to the first pod", 0.5, "%.2f", " s", seconds...)}
}
