package main

import (
	"context"
	"fmt"
	"time"
)

// Each object is scaled to besideMany pods, and down to besideFew.
const besideMany, besideFew = 25, 5

const besideNamespace = "bench-beside"

// measureBeside scales many objects up at the same time, and then down. It counts the pods
// that were created beyond the desired ones.
func (b *bench) measureBeside(ctx context.Context, todo loopAgenda) (p part, err error) {
	if err := b.makeNamespaces(ctx, []string{besideNamespace}); err != nil {
		return p, err
	}
	var surplus []float64
	for round := range todo.besideRounds {
		more, err := b.scaleMany(ctx, fmt.Sprintf("beside-%d", round), todo.besideObjects)
		if err != nil {
			return p, err
		}
		surplus = append(surplus, float64(more))
	}
	s := spreadOf(surplus)
	p.goals = append(p.goals, goal{what: "pods created beyond the desired ones", wanted: "0", measured: s.text("%.0f"), held: s.most == 0})
	return p, nil
}

// scaleMany creates objects without pods, scales all of them up, and then down, and removes
// them. It returns how many pods were created beyond the desired ones.
func (b *bench) scaleMany(ctx context.Context, run string, objects int) (surplus int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := b.watchRunIn(ctx, besideNamespace, run, nil)
	if err != nil {
		return 0, err
	}
	if err := b.makeObjectsIn(ctx, besideNamespace, run, objects, 0); err != nil {
		return 0, err
	}
	s := b.ours("-n", besideNamespace)
	l, err := b.launch(ctx, s)
	if err != nil {
		return 0, err
	}
	defer l.stop()
	// Wait until the caches are filled and the first statuses are written.
	if err := pause(ctx, veryQuiet); err != nil {
		return 0, err
	}
	for _, pods := range []int{besideMany, besideFew} {
		err := parallel(16, objects, func(i int) error {
			return b.setReplicasIn(ctx, s, besideNamespace, fmt.Sprintf("%s-%d", run, i), pods)
		})
		if err != nil {
			return 0, err
		}
		if _, err := w.until(ctx, "the wanted pods are ready", func() bool { return len(w.pods) == objects*pods && w.ready == objects*pods }); err != nil {
			return 0, fmt.Errorf("%w; output of the loop: %s", err, l.words())
		}
	}
	if err := untilStill(ctx, l); err != nil {
		return 0, err
	}
	w.note(func(time.Time) { surplus = len(w.created) - objects*besideMany })
	l.stop()
	return surplus, b.empty(ctx, besideNamespace)
}
