package controller

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// makeCaches makes the cache of pods and those that strategies need beside it.
func (l *loop) makeCaches() error {
	var err error
	if l.pods, err = l.health.Informer(strategy.PodSource(l.clients())); err != nil {
		return fmt.Errorf("watch pods: %w", err)
	}
	for name, s := range l.strategies {
		if s.Beside == nil {
			continue
		}
		lazy, err := l.health.Lazy(s.Beside.Source(l.clients()))
		if err == nil {
			_, err = lazy.AddEventHandler(l.besideEvents(name, s.Beside))
		}
		if err != nil {
			return fmt.Errorf("watch the objects that plans read: %w", err)
		}
		l.beside[name] = lazy
	}
	if l.revisions, err = newRevisions(l); err != nil {
		return fmt.Errorf("watch revisions: %w", err)
	}
	return nil
}

// keepBeside fills the cache of a strategy when it is needed. Missing rights are
// waited out; the kinds that do not need it go on.
func (l *loop) keepBeside(ctx context.Context, name kinds.Strategy) {
	said, lazy := false, l.beside[name]
	lazy.Keep(ctx, func(err error) {
		switch {
		case err == nil && said:
			l.report.Logf("can list %s again", lazy.Resource())
		case err != nil && !said:
			var names []string
			for _, o := range l.kinds.by(name) {
				names = append(names, o.kind.CRD())
			}
			l.report.Logf("cannot list %s: %v; trying again; not reconciled until then: %s", lazy.Resource(), err, strings.Join(names, ", "))
			said = true
		}
		if err != nil {
			for _, o := range l.kinds.by(name) {
				o.setRefused(err) // also of a kind that was declared since
			}
			l.memory.Notify()
		}
	})
}

// besideEvents puts the objects into the queue whose plans look at something.
func (l *loop) besideEvents(name kinds.Strategy, beside *strategy.Beside) cache.ResourceEventHandler {
	enqueue := func(obj any, changed bool, how string) {
		if !changed && !beside.Written {
			return
		}
		obj = informer.Object(obj)
		for _, k := range l.kinds.concerned(name, beside.Concerns(obj)) {
			l.wake(k, changed, how, beside.Why(obj, how)...)
		}
	}
	return handler(enqueue, func(old, obj any) {
		changed := beside.Differs(old, obj)
		enqueue(obj, changed, updated)
		if changed && beside.Released != nil && beside.Released(old, obj) {
			enqueue(old, true, "its controller reference was removed")
		}
	})
}
