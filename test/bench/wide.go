package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Memory limits in bytes, in addition to the memory of an idle controller.
const (
	perPod    = 1200
	perObject = 1000
	perKind   = 300_000
)

// measureWide measures the memory and the startup time of a controller with objects of many kinds in
// many namespaces. There is at most one object of each kind per namespace.
func (b *bench) measureWide(ctx context.Context) []goal {
	objects, kinds := sized(b, 10_000, 12), sized(b, 100, 3)
	namespaces := make([]string, sized(b, 200, 4))
	for i := range namespaces {
		namespaces[i] = fmt.Sprintf("wide-%d", i)
	}
	s := b.ours("-A", "--declared-kinds")
	l := b.launch(ctx, s)
	defer func() { l.stop() }()
	pause(ctx, veryQuiet)
	bare := l.usage().resident
	l.stop()

	b.makeNamespaces(ctx, namespaces...)
	b.declareKinds(ctx, kinds)
	// The run label of the pods is the name of their object.
	w := b.watchRun(ctx, s.in(metav1.NamespaceAll), "wide")
	l = b.launch(ctx, s)
	parallel(atOnce, objects, func(i int) {
		kind, round := i%kinds, i/kinds
		b.makeDeclared(ctx, kind, namespaces[(kind+round)%len(namespaces)], "wide")
	})
	w.untilReady(ctx, objects)
	l.untilStill(ctx)
	l.stop()

	// Restart the loop while there is nothing to do.
	start := time.Now()
	l = b.launch(ctx, s)
	l.untilReconciled(ctx, objects)
	took := time.Since(start)
	l.untilStill(ctx)
	const mb = 1e6
	allowed := float64(objects*(perPod+perObject) + kinds*perKind)
	more := float64(l.usage().resident) - float64(bare)
	const what = "many kinds and namespaces: "
	return []goal{
		medianGoal(what+"memory beyond that of a controller without objects", allowed/mb, "%.1f", " MB", more/mb),
		medianGoal(what+"from the start until every object is reconciled once", 5, "%.2f", " s", took.Seconds()),
	}
}
