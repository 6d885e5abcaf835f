package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// idle is the cost of a loop with little or nothing to do.
type idle struct {
	objects, pods int
	// ready is the time until all pods were ready.
	ready time.Duration
	// window is how long the loop was observed then, with its work and usage.
	window time.Duration
	still  stillness
	// restarted is the same after a restart. began is the time until the first
	// plan, looked the number of reconciled objects, and rewrites the number of
	// writes until the loop was idle.
	restarted stillness
	began     time.Duration
	looked    float64
	rewrites  int
	// one and many are the cost of a reconcile with one other object in the
	// namespace, and with many.
	one, many reconcileCost
}

// stillness is the work of a converged loop in a window.
type stillness struct {
	reconciles float64
	writes     int
	leases     int // writes of its lease
	cpu        float64
	resident   uint64
	peak       uint64
}

// reconcileCost is the cost per reconcile after a change of one object.
type reconcileCost struct {
	reconciles float64
	cpu, work  time.Duration
	requests   float64
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
	if err := b.makeObjects(ctx, s, "few", 2, 0); err != nil {
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
	start := time.Now()
	if err := b.makeObjects(ctx, s, "idle", i.objects, todo.idlePods); err != nil {
		return i, err
	}
	ready, err := w.until(ctx, "all pods are ready", func() bool { return w.ready == i.pods })
	if err != nil {
		return i, err
	}
	i.ready = ready.Sub(start)
	say("%d pods of %d objects are ready after %.1f s", i.pods, i.objects, i.ready.Seconds())
	if i.still, err = b.lookOn(ctx, s, l, i.window); err != nil {
		return i, err
	}
	if i.many, err = b.changeOne(ctx, s, l, "few-1", todo.changes); err != nil {
		return i, err
	}
	l.stop()
	return i, b.restart(ctx, s, &i)
}

// restart starts the loop again while nothing needs to change.
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
		if plans, err := l.metric("imoocpod_plans_total"); err == nil && plans > 0 {
			break
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
		if time.Since(start) > patience {
			return fmt.Errorf("the loop has reconciled nothing; output: %s", l.words())
		}
	}
	i.began = time.Since(start)
	settled, err := b.settle(ctx, s, l, state{place: place}, veryQuiet)
	if err != nil {
		return err
	}
	i.rewrites = settled.writes
	if i.looked, err = l.metric("imoocpod_reconciles_total"); err != nil {
		return err
	}
	say("planned %.2f s after its start with %d pods", i.began.Seconds(), i.pods)
	i.restarted, err = b.lookOn(ctx, s, l, i.window/2)
	return err
}

// makeObjects creates objects with some pods each.
func (b *bench) makeObjects(ctx context.Context, s subject, name string, n, pods int) error {
	return parallel(16, n, func(i int) error {
		object := s.owner(name, pods)
		object["metadata"] = map[string]any{"name": fmt.Sprintf("%s-%d", name, i)}
		_, err := b.account.dynamic.Resource(s.resource).Namespace(namespace).Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
		return err
	})
}

// lookOn waits until a loop is idle, and then measures it for a while.
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
		switch {
		case !r.writes():
		case r.Object.Resource == "leases":
			still.leases++
		default:
			still.writes++
		}
	}
	still.reconciles, still.cpu = after.reconciles-before.reconciles, after.usage.cpu-before.usage.cpu
	still.resident, still.peak = after.usage.resident, after.usage.peak
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
	worked, err := l.metric("workqueue_work_duration_seconds")
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
	done, err := l.metric("workqueue_work_duration_seconds")
	if err != nil {
		return cost, err
	}
	cost.reconciles = after.reconciles - before.reconciles
	each := func(seconds float64) time.Duration {
		return time.Duration(seconds / cost.reconciles * float64(time.Second))
	}
	cost.cpu, cost.work = each(after.usage.cpu-before.usage.cpu), each(done-worked)
	for _, n := range after.counts {
		cost.requests += float64(n) / cost.reconciles
	}
	return cost, nil
}
