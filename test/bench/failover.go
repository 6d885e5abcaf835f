package main

import (
	"context"
	"strings"
	"time"
)

// lease is the lease duration in seconds (pkg/controller/lease). A standby takes over if the active
// controller does not renew its lease for this time.
const lease = 15.0

// measureFailover measures how long a change takes when the active controller has just failed.
// The controller is killed, or frozen as if its machine became unreachable.
func (b *bench) measureFailover(ctx context.Context) (goals []goal) {
	objects, podsEach := sized(b, 1000, 5), sized(b, 5, 2)
	s := b.oursIn(ctx, "bench-failover")
	w, probed := b.watchRun(ctx, s, "held"), b.watchRun(ctx, s, probe)
	leader := b.launch(ctx, s)
	defer func() { leader.kill() }()
	b.makeObjects(ctx, s, "held", objects, podsEach)
	b.makeObjects(ctx, s, probe, 1, 0)
	w.untilReady(ctx, objects*podsEach)
	leader.untilStill(ctx)
	changes := 0
	for _, failure := range []struct {
		what   string
		stop   func(*loop)
		rounds int
		// most is the maximum allowed median, in seconds.
		most float64
	}{
		{"killed with SIGKILL", func(l *loop) { l.kill() }, sized(b, 3, 1), 1},
		{"frozen", func(l *loop) { l.freeze(ctx) }, sized(b, 2, 1), lease + 0.2},
	} {
		var seconds []float64
		for round := range failure.rounds {
			changes++
			failed := leader
			leader = b.launch(ctx, s)
			await(ctx, 50*time.Millisecond, "the second loop waits as a standby", func() bool {
				return strings.Contains(leader.output(), "waiting until it stops")
			})
			// The lease is renewed every two seconds. Vary the time of the failure within this period.
			pause(ctx, time.Second+time.Duration(round)*370*time.Millisecond)
			start := time.Now()
			failure.stop(failed)
			b.setReplicas(ctx, s, probe+"-0", changes)
			seconds = append(seconds, probed.untilCreated(ctx, changes).Sub(start).Seconds())
			failed.kill()
		}
		what := "controller " + failure.what + ": from then to the first pod of a change"
		goals = append(goals, medianGoal(what, failure.most, "%.2f", " s", seconds...))
	}
	return goals
}
