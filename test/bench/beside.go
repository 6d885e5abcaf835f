package main

import (
	"context"
	"fmt"
	"time"
)

// Each object is scaled up to besideMany pods, and down to besideFew pods.
const besideMany, besideFew = 25, 5

const besideNamespace = "bench-beside"

// measureBeside scales many objects up and down at the same time. It counts the surplus pods that
// were created.
func (b *bench) measureBeside(ctx context.Context) []goal {
	b.makeNamespaces(ctx, besideNamespace)
	var surplus []float64
	for round := range sized(b, 2, 1) {
		surplus = append(surplus, float64(b.scaleMany(ctx, fmt.Sprintf("beside-%d", round), sized(b, 20, 2))))
	}
	s := spreadOf(surplus)
	return []goal{{what: "pods created beyond the desired ones", wanted: "0", measured: s.text("%.0f"), held: s.most == 0}}
}

// scaleMany creates objects without pods, scales all of them up and down, and removes them. It
// returns the number of surplus pods that were created.
func (b *bench) scaleMany(ctx context.Context, run string, objects int) (surplus int) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := b.oursIn(besideNamespace)
	w := b.watchRun(ctx, s, run)
	b.makeObjects(ctx, s, run, objects, 0)
	l := b.launch(ctx, s)
	defer l.stop()
	pause(ctx, veryQuiet) // until the caches are filled and the first statuses are written
	for _, pods := range []int{besideMany, besideFew} {
		parallel(atOnce, objects, func(i int) { b.setReplicas(ctx, s, fmt.Sprintf("%s-%d", run, i), pods) })
		w.untilReady(ctx, objects*pods)
	}
	l.untilStill(ctx)
	w.note(func(time.Time) { surplus = len(w.created) - objects*besideMany })
	l.stop()
	b.empty(ctx, besideNamespace)
	return surplus
}
