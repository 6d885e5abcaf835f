package main

import (
	"context"
	"fmt"
	"time"
)

// A loop is allowed to use this many more bytes of memory than an idle controller.
const (
	perPod    = 1200
	perObject = 1000
	perKind   = 300_000
)

// measureWide measures the memory and the start of a loop with objects of many kinds
// in many namespaces.
func (b *bench) measureWide(ctx context.Context, todo loopAgenda) (p part, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := b.ours("-A", "--declared-kinds")
	bare, err := b.bareMemory(ctx, s)
	if err != nil {
		return p, err
	}
	names := make([]string, todo.wideNamespaces)
	for i := range names {
		names[i] = fmt.Sprintf("wide-%d", i)
	}
	if err := b.makeNamespaces(ctx, names); err != nil {
		return p, err
	}
	if err := b.declareKinds(ctx, todo.wideKinds); err != nil {
		return p, err
	}
	// The run label of the pods is the name of their object.
	w, err := b.watchRunIn(ctx, "", "wide", nil)
	if err != nil {
		return p, err
	}
	l, err := b.launch(ctx, s)
	if err != nil {
		return p, err
	}
	defer l.stop()
	if err := b.makeWide(ctx, todo, names); err != nil {
		return p, err
	}
	if _, err := w.until(ctx, "all pods are ready", func() bool { return w.ready == todo.wideObjects }); err != nil {
		return p, fmt.Errorf("%w; output of the loop: %s", err, l.words())
	}
	if err := untilStill(ctx, l); err != nil {
		return p, err
	}
	l.stop()
	took, again, err := b.startWide(ctx, s, todo.wideObjects)
	if err != nil {
		return p, err
	}
	const mb = 1e6
	allowed := float64(todo.wideObjects*(perPod+perObject) + todo.wideKinds*perKind)
	p.hold(allowed/mb, figure{"many kinds and namespaces: memory beyond that of a controller without objects", "%.1f", " MB", []float64{(float64(again.resident) - float64(bare)) / mb}})
	p.hold(5, figure{"many kinds and namespaces: from the start until every object is reconciled once", "%.2f", " s", []float64{took.Seconds()}})
	return p, nil
}

// bareMemory returns the resident memory of a controller without objects, in bytes.
func (b *bench) bareMemory(ctx context.Context, s subject) (resident uint64, err error) {
	l, err := b.launch(ctx, s)
	if err != nil {
		return 0, err
	}
	defer l.stop()
	if err := pause(ctx, veryQuiet); err != nil {
		return 0, err
	}
	used, err := l.usage()
	return used.resident, err
}

// makeWide spreads objects over kinds and namespaces, at most one of each kind per
// namespace.
func (b *bench) makeWide(ctx context.Context, todo loopAgenda, namespaces []string) error {
	return parallel(16, todo.wideObjects, func(i int) error {
		kind, round := i%todo.wideKinds, i/todo.wideKinds
		return b.makeOfKind(ctx, kind, namespaces[(kind+round)%len(namespaces)], "wide")
	})
}

// startWide starts a loop while nothing needs to change. It returns the time until
// the loop had reconciled every object, and its usage at rest.
func (b *bench) startWide(ctx context.Context, s subject, objects int) (took time.Duration, used usage, err error) {
	start := time.Now()
	l, err := b.launch(ctx, s)
	if err != nil {
		return 0, used, err
	}
	defer l.stop()
	for {
		// Ignore an error because the loop does not serve metrics at first.
		if looks, err := l.reconciles(); err == nil && looks >= float64(objects) {
			break
		}
		if time.Since(start) > patience {
			return 0, used, fmt.Errorf("the loop has not reconciled all objects; output: %s", l.words())
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return 0, used, err
		}
	}
	took = time.Since(start)
	if err := untilStill(ctx, l); err != nil {
		return took, used, err
	}
	used, err = l.usage()
	return took, used, err
}
