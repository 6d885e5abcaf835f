package main

import (
	"context"
	"fmt"
	"time"
)

// probe is the name prefix of the objects that a measurement scales, and the run label of their pods.
const probe = "probe"

// measureBacklog measures how long a new controller takes to act on a change while it creates many pods.
func (b *bench) measureBacklog(ctx context.Context) []goal {
	changes := sized(b, 20, 2)
	s := b.oursIn(ctx, "bench-backlog")
	b.makeObjects(ctx, s, "backlog", sized(b, 5000, 20), 1)
	b.makeObjects(ctx, s, probe, changes, 0)
	w, probed := b.watchRun(ctx, s, "backlog"), b.watchRun(ctx, s, probe)
	l := b.launch(ctx, s)
	defer l.stop()
	w.untilCreated(ctx, 1)
	seconds := b.addOneEach(ctx, s, probe, changes, 1, probed)
	return []goal{medianGoal("change during the startup: to the first pod", 0.5, "%.2f", " s", seconds...)}
}

// addOneEach scales the numbered objects of a run from pods-1 to pods, one after the other. It returns the seconds
// from each change to the creation of the new pod.
func (b *bench) addOneEach(
	ctx context.Context, s subject, run string, objects, pods int, w *witness,
) (seconds []float64) {
	for i := range objects {
		start := time.Now()
		b.setReplicas(ctx, s, fmt.Sprintf("%s-%d", run, i), pods)
		there := w.untilCreated(ctx, (pods-1)*objects+i+1)
		seconds = append(seconds, there.Sub(start).Seconds())
		pause(ctx, 100*time.Millisecond)
	}
	return seconds
}
