package main

import (
	"context"
	"fmt"
	"time"
)

// idle is the cost of a loop with little or nothing to do.
type idle struct {
	objects, pods int
	// window is how long the loop was observed when it was idle. still is its work in the window.
	window time.Duration
	still  stillness
	// restarted is the work of the idle loop after a restart, in half of the window. rewrites is
	// the number of writes from the restart until the loop was idle.
	restarted stillness
	rewrites  int
	// one and many are the cost of a reconcile with one other object in the
	// namespace, and with many.
	one, many reconcileCost
}

// stillness is the work of a converged loop in a window.
type stillness struct {
	reconciles float64
	writes     int // without writes of its lease
}

// reconcileCost is the cost per reconcile after a change of one object.
type reconcileCost struct {
	cpu      time.Duration
	requests float64
}

// measureIdle creates many small objects, and measures their loop. The objects
// stay.
func (b *bench) measureIdle(ctx context.Context, todo agenda) (i idle, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	i = idle{objects: todo.idleObjects, pods: todo.idleObjects * todo.idlePods, window: todo.idleWindow}
	s := b.ours()
	w, err := b.watchRun(ctx, "idle", nil)
	if err != nil {
		return i, err
	}
	if err := b.makeObjectsIn(ctx, namespace, "few", 2, 0); err != nil {
		return i, err
	}
	l, err := b.launch(ctx, s)
	if err != nil {
		return i, err
	}
	defer l.stop()
	if i.one, err = b.changeOne(ctx, s, l, "few-0", todo.changes); err != nil {
		return i, err
	}
	if err := b.makeObjectsIn(ctx, namespace, "idle", i.objects, todo.idlePods); err != nil {
		return i, err
	}
	if _, err := w.until(ctx, "all pods are ready", func() bool { return w.ready == i.pods }); err != nil {
		return i, err
	}
	if i.still, err = b.lookOn(ctx, s, l, i.window); err != nil {
		return i, err
	}
	if i.many, err = b.changeOne(ctx, s, l, "few-1", todo.changes); err != nil {
		return i, err
	}
	l.stop()
	return i, b.restart(ctx, s, &i)
}

// restart starts the loop again while nothing needs to change, and sets the results in i.
func (b *bench) restart(ctx context.Context, s subject, i *idle) error {
	place, err := b.audit.end()
	if err != nil {
		return err
	}
	start := time.Now()
	l, err := b.launch(ctx, s)
	if err != nil {
		return err
	}
	defer l.stop()
	for {
		if reconciles, err := l.reconciles(); err == nil && reconciles > 0 {
			break
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
		if time.Since(start) > patience {
			return fmt.Errorf("the loop has reconciled nothing; output: %s", l.words())
		}
	}
	settled, err := b.settle(ctx, s, l, state{place: place}, veryQuiet)
	if err != nil {
		return err
	}
	i.rewrites = settled.writes
	i.restarted, err = b.lookOn(ctx, s, l, i.window/2)
	return err
}

// lookOn waits until a loop is idle, and then measures its work in a window.
func (b *bench) lookOn(ctx context.Context, s subject, l *loop, window time.Duration) (still stillness, err error) {
	place, err := b.audit.end()
	if err != nil {
		return still, err
	}
	before, err := b.settle(ctx, s, l, state{place: place}, veryQuiet)
	if err != nil {
		return still, err
	}
	if err := pause(ctx, window); err != nil {
		return still, err
	}
	after, err := b.stateOf(s, l)
	if err != nil {
		return still, err
	}
	requests, err := b.audit.since(before.place, s.agent)
	if err != nil {
		return still, err
	}
	for _, r := range requests {
		if r.writes() && r.Object.Resource != "leases" {
			still.writes++
		}
	}
	still.reconciles = after.reconciles - before.reconciles
	return still, nil
}

// changeOne scales an object back and forth, and returns the cost per reconcile.
func (b *bench) changeOne(ctx context.Context, s subject, l *loop, name string, changes int) (cost reconcileCost, err error) {
	w, err := b.watchRun(ctx, "few", &ownerRef{s.resource, name})
	if err != nil {
		return cost, err
	}
	if _, err := w.until(ctx, "the owner is observed", func() bool { return w.says(0) }); err != nil {
		return cost, err
	}
	before, err := b.stateOf(s, l)
	if err != nil {
		return cost, err
	}
	for change := range changes {
		n := (change + 1) % 2
		if err := b.setReplicas(ctx, s, name, n); err != nil {
			return cost, err
		}
		if _, err := w.until(ctx, "the status says so", func() bool { return w.says(n) }); err != nil {
			return cost, err
		}
	}
	after, err := b.settle(ctx, s, l, before, quiet)
	if err != nil {
		return cost, err
	}
	reconciles := after.reconciles - before.reconciles
	cost.cpu = time.Duration((after.usage.cpu - before.usage.cpu) / reconciles * float64(time.Second))
	for _, n := range after.counts {
		cost.requests += float64(n) / reconciles
	}
	return cost, nil
}
