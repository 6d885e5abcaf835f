package controller

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// makeCaches makes the caches of pods, revisions, and what else strategies read.
func (l *loop) makeCaches() error {
	var err error
	if l.pods, err = l.health.Informer(strategy.PodSource(l.clients())); err != nil {
		return fmt.Errorf("watch pods: %w", err)
	}
	for name, s := range l.strategies {
		if s.Input == nil {
			continue
		}
		lazy, err := l.health.Lazy(s.Input.Source(l.clients()))
		if err == nil {
			_, err = lazy.AddEventHandler(l.inputEvents(name, s.Input))
		}
		if err != nil {
			return fmt.Errorf("watch the objects that plans read: %w", err)
		}
		l.inputs[name] = lazy
	}
	if l.revisions, err = newRevisions(l); err != nil {
		return fmt.Errorf("watch revisions: %w", err)
	}
	return nil
}

// keepInput fills the cache of a strategy when it is needed. Missing rights are
// waited out; the kinds that do not need it go on.
func (l *loop) keepInput(ctx context.Context, name kinds.Strategy) {
	said, lazy := false, l.inputs[name]
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

// inputEvents puts the objects into the queue whose plans read something.
func (l *loop) inputEvents(name kinds.Strategy, input *strategy.Input) cache.ResourceEventHandler {
	enqueue := func(obj any, changed bool, how string) {
		o, ok := informer.Object(obj).(metav1.Object)
		if !ok || !changed && !input.Written {
			return
		}
		for _, k := range l.kinds.readersOf(name, o) {
			l.wake(k, changed, how, l.inputs[name].Resource(), o.GetName(), how)
		}
	}
	return handler(enqueue, func(old, obj any) {
		changed := input.Differs(old, obj)
		enqueue(obj, changed, updated)
		before, was := old.(metav1.Object)
		after, is := obj.(metav1.Object)
		if changed && was && is && strategy.OwnerUID(before) != strategy.OwnerUID(after) {
			enqueue(old, true, "its controller reference was removed")
		}
	})
}
