package controller

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// makeCaches makes the caches of everything that plans read, apart from the objects themselves.
func (c *Controller) makeCaches() {
	clients := strategy.Clients{Core: c.Core, Dynamic: c.Dynamic, Namespace: c.Namespace}
	readersOf := func(name kinds.Strategy) func(any) []memory.Key {
		return func(obj any) []memory.Key { return c.kinds.readersOf(name, obj) }
	}
	c.pods = c.newCache(strategy.PodSource(clients), c.podKeys)
	for name, s := range c.strategies {
		if s.Input != nil {
			c.inputs[name] = c.newCache(s.Input(clients), readersOf(name))
		}
	}
	c.revisions = &revisionCache{controller: c, unreadable: make(chan struct{})}
	revisions := strategy.RevisionSource(clients)
	revisions.OnFilled = c.revisions.resume
	c.revisions.Informer = c.newCache(revisions, readersOf("")) // revisions are namespaced
}

// newCache returns a cache whose events requeue objects. keys returns the keys of the objects whose
// plans read an object of the source.
func (c *Controller) newCache(s informer.Source, keys func(obj any) []memory.Key) *informer.Informer {
	i := c.health.New(s)
	i.Handle(c.handler(s, keys))
	return i
}

// handler returns a handler that queues the keys of each event that changes what plans read. The
// loop's own writes cause such events, too, but each event costs only a plan from the caches.
func (c *Controller) handler(s informer.Source, keys func(obj any) []memory.Key) cache.ResourceEventHandler {
	what := func(obj any) string {
		if o, ok := obj.(metav1.Object); ok && s.Singular != "" {
			return s.Singular + " " + o.GetName()
		}
		return "it"
	}
	wake := func(obj any, how string) {
		for _, k := range keys(obj) {
			c.wake(k, what(obj), how)
		}
	}
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			if !initial {
				wake(obj, "was added")
				return
			}
			for _, k := range keys(obj) { // these objects may be unchanged
				c.wakeLater(k, what(obj), "existed at the start")
			}
		},
		UpdateFunc: func(old, obj any) {
			if s.Equal(old, obj) {
				return
			}
			wake(obj, "was updated")
			for k := range sets.New(keys(old)...).Delete(keys(obj)...) {
				c.wake(k, what(old), "was released")
			}
		},
		DeleteFunc: func(obj any) { wake(informer.Object(obj), "was deleted") },
	}
}

// podKeys returns the key of the object that controls a pod. For a pod of a Deployment, that is the
// owner of the Deployment, but only if the status of the owner lists pod names, or if the pod has a
// failure to log.
func (c *Controller) podKeys(obj any) (keys []memory.Key) {
	r, ok := obj.(*strategy.PodRecord)
	if !ok {
		return nil
	}
	if o, k := c.kinds.controllerOf(r); o != nil && o.kind.Mapping.Strategy.OwnsPods() {
		return []memory.Key{k}
	}
	if r.Pod.Deployment == "" {
		return nil
	}
	for _, o := range c.kinds.list() {
		if o.strategy.PodIndex == strategy.ByLabel && (len(o.kind.Mapping.Status.PodNames) > 0 || r.FailureCode != "") {
			keys = append(keys, o.keysOfUID(r.Label)...)
		}
	}
	return keys
}

// keepInput fills the input cache of a strategy when a kind first needs it. While the input cannot
// be listed, the kinds of the strategy are not reconciled, but other kinds are.
func (c *Controller) keepInput(ctx context.Context, name kinds.Strategy) {
	reported, resource := false, c.inputs[name].Resource
	c.inputs[name].Run(ctx, func(err error) {
		if err == nil {
			if reported {
				c.report.Logf("can list %s again", resource)
			}
			return
		}
		var crds []string
		for _, o := range c.kinds.by(name) {
			if o.state.Load().missing {
				continue
			}
			crds = append(crds, o.kind.CRD())
			if forbidden(err) {
				o.state.Store(&ownerState{refused: err})
			}
		}
		if !reported {
			c.report.Logf("cannot list %s: %v; trying again; not reconciled until then: %s", resource, err, strings.Join(crds, ", "))
		}
		reported = true
		c.memory.Notify()
	})
}
