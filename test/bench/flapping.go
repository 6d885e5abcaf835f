package main

import (
	"context"
	"fmt"
	"math"
	"time"
)

// The replica count of an object flaps between these numbers, at this interval.
const (
	flapFew, flapMany = 5, 15
	flapPeriod        = 50 * time.Millisecond
)

// flapBurst is how many status writes are allowed at once before they are
// throttled.
const flapBurst = 5

const flappingNamespace = "bench-flapping"

// measureFlapping changes a replica count continuously, counts the status writes and
// pods of the loop, and measures when the status is correct again.
func (b *bench) measureFlapping(ctx context.Context, todo loopAgenda) (p part, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	const ns, run = flappingNamespace, "flapping"
	if err := b.makeNamespaces(ctx, []string{ns}); err != nil {
		return p, err
	}
	if err := b.makeObjectsIn(ctx, ns, run, 1, flapFew); err != nil {
		return p, err
	}
	s := b.ours("-n", ns)
	w, err := b.watchRunIn(ctx, ns, run, &ownerRef{s.resource, run + "-0"})
	if err != nil {
		return p, err
	}
	l, err := b.launch(ctx, s)
	if err != nil {
		return p, err
	}
	defer l.stop()
	if _, err := w.until(ctx, "the status says so", func() bool { return w.says(flapFew) }); err != nil {
		return p, fmt.Errorf("%w; output of the loop: %s", err, l.words())
	}
	before, err := b.stateOf(s, l)
	if err != nil {
		return p, err
	}
	start := time.Now()
	last, end, err := b.flap(ctx, s, ns, run+"-0", todo.flapping)
	if err != nil {
		return p, err
	}
	converged, err := w.until(ctx, "the status says so", func() bool { return w.says(last) })
	if err != nil {
		return p, fmt.Errorf("%w; output of the loop: %s", err, l.words())
	}
	after, err := b.settle(ctx, s, l, before, quiet)
	if err != nil {
		return p, err
	}
	took, writes := converged.Sub(start).Seconds(), after.counts.statusWrites()
	p.hold(2, figure{"flapping count: from the last change to the correct status", "%.2f", " s", []float64{converged.Sub(end).Seconds()}})
	p.goals = append(p.goals,
		goal{what: "flapping count: status writes", wanted: fmt.Sprintf("≤ 1 per second after the first %d", flapBurst),
			measured: fmt.Sprintf("%d in %.1f s", writes, took), held: writes <= flapBurst+int(math.Ceil(took))},
		goal{what: "flapping count: pods at once", wanted: fmt.Sprintf("≤ %d", flapMany), measured: fmt.Sprint(w.most), held: w.most <= flapMany})
	return p, nil
}

// flap changes the replica count of an object for d. It returns the final count, and
// the time of the last change.
func (b *bench) flap(ctx context.Context, s subject, ns, name string, d time.Duration) (last int, at time.Time, err error) {
	ticker := time.NewTicker(flapPeriod)
	defer ticker.Stop()
	changes := 0
	for end := time.Now().Add(d); time.Now().Before(end); changes++ {
		last = flapFew
		if changes%2 == 0 {
			last = flapMany
		}
		at = time.Now()
		if err := b.setReplicasIn(ctx, s, ns, name, last); err != nil {
			return last, at, err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return last, at, context.Cause(ctx)
		}
	}
	return last, at, nil
}
