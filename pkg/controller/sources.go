package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

func (c *Controller) makeCaches() {
	c.pods = c.newCache(strategy.PodSource(c.Clients), c.podKeys)
	for name, s := range strategy.All() {
		if s.Input != nil {
			c.inputs[name] = c.newCache(s.Input(c.Clients), func(obj any) []memory.Key { return c.kinds.readersOf(name, obj) })
		}
	}
	c.revisions = &revisionCache{controller: c, unreadable: make(chan struct{})}
	revisions := strategy.RevisionSource(c.Clients)
	revisions.OnFilled = c.revisions.resume
	// Revisions are namespaced, so readersOf ignores the strategy.
	c.revisions.Informer = c.newCache(revisions, func(obj any) []memory.Key { return c.kinds.readersOf("", obj) })
}

// newCache returns a cache. Each event that matters to plans requeues the objects in keys(obj). The loop's own writes
// cause events, too, but such an event costs only another plan from the caches.
func (c *Controller) newCache(s informer.Source, keys func(obj any) []memory.Key) *informer.Informer {
	return c.health.New(s, func(before, after any, initial bool) {
		obj, how := after, " was updated"
		switch {
		case initial:
			how = " existed at the start"
		case before == nil:
			how = " was added"
		case after == nil:
			obj, how = before, " was deleted"
		}
		what := "it"
		if o, ok := obj.(metav1.Object); ok && s.Singular != "" {
			what = s.Singular + " " + o.GetName()
		}
		woken := keys(obj)
		for _, k := range woken {
			c.wake(k, initial, what+how)
		}
		for k := range sets.New(keys(before)...).Delete(woken...) {
			c.wake(k, false, what+" was released")
		}
	})
}

// podKeys returns the key of the object that controls a pod. For a pod of a Deployment, it returns the key of the
// Deployment's controller if the controller's status lists pod names, or if the pod has a failure to log.
func (c *Controller) podKeys(obj any) []memory.Key {
	r, ok := obj.(*strategy.Record[plan.Pod])
	if !ok {
		return nil
	}
	if o, k := c.kinds.controllerOf(r); o != nil && o.kind.Mapping.Strategy.OwnsPods() {
		return []memory.Key{k}
	}
	name := cache.NewObjectName(r.Namespace, r.Child.Deployment).String()
	found, _, _ := c.inputs[kinds.StrategyDeployment].GetStore().GetByKey(name)
	deployment, ok := found.(metav1.Object)
	if !ok {
		return nil // the event that adds the Deployment requeues its controller
	}
	o, k := c.kinds.controllerOf(deployment)
	if o != nil && (len(o.kind.Mapping.Status.PodNames) > 0 || r.Child.FailureCode != "") {
		return []memory.Key{k}
	}
	return nil
}

// followInstalled waits until a kind's CRD is installed and its objects can be listed. Then it watches the objects
// until the CRD is removed. It polls for the CRD, because a watch of CRDs would need an additional permission.
func (c *Controller) followInstalled(ctx context.Context, o *owners) {
	installed, removed := context.WithCancel(ctx)
	defer removed()
	crd := o.kind.CRD()
	objects := c.newCache(c.ownerSource(o, removed), func(obj any) []memory.Key { return o.keysOf(obj) })
	reported := false
	objects.Need()
	objects.Run(installed, func(err error) {
		missing := o.state.Load().missing
		switch {
		case err == nil:
			if missing && !o.declared {
				c.report.Logf("%s is installed", crd)
			}
			c.awaitCaches(installed, o)
			o.state.Store(&ownerState{objects: objects})
		case apierrors.IsNotFound(err):
			if !missing && !o.declared {
				c.logNotInstalled(o.kind)
			}
			o.state.Store(&ownerState{missing: true})
		case !reported:
			c.report.Logf("cannot list %s: %v; trying again", crd, err)
			reported = true
		}
		if forbidden(err) {
			o.state.Store(&ownerState{refused: err})
		}
		c.memory.Notify()
	})
	c.health.Forget(crd)
	if ctx.Err() == nil { // after the loop ends, States still needs the objects
		o.state.Store(&ownerState{})
	}
}

// awaitCaches waits for the caches that a kind needs. With an empty cache of nodes, a plan would delete all pods.
func (c *Controller) awaitCaches(ctx context.Context, o *owners) {
	if input := c.inputs[o.kind.Mapping.Strategy]; input != nil {
		select {
		case <-input.Need():
		case <-ctx.Done():
		}
	}
	c.revisions.await(ctx)
}

func (c *Controller) ownerSource(o *owners, missing func()) informer.Source {
	equal := func(before, after *unstructured.Unstructured) bool {
		at := o.kind.Mapping.Status
		return !differs(o.kind, before, after) && equality.Semantic.DeepEqual(strategy.DecodeStatus(at, before), strategy.DecodeStatus(at, after))
	}
	objects := follow.SourceOf(o.client.Namespace(c.Namespace))
	s := informer.SourceOf(o.kind.CRD(), objects, &unstructured.Unstructured{}, trimOwner(o.kind), equal)
	s.Selector = c.Selector.String()
	s.OnMissing, s.OnFilled = missing, c.memory.Notify
	return s
}

// logNotInstalled logs the missing CRDs. For shipped kinds, the message suggests c.Install, which creates their CRDs.
func (c *Controller) logNotInstalled(missing ...kinds.Kind) {
	log := func(shipped bool, how string) {
		crds := kinds.CRDs(slices.DeleteFunc(slices.Clone(missing), func(k kinds.Kind) bool { return k.Shipped() != shipped }))
		switch len(crds) {
		case 0:
		case 1:
			c.report.Logf("%s is not installed%s; waiting until it is installed", crds[0], how)
		default:
			c.report.Logf("%s are not installed%s; waiting until they are installed", strings.Join(crds, ", "), how)
		}
	}
	log(true, fmt.Sprintf(": run \"%s\"", c.Install))
	log(false, "")
}

// keepInput fills the input cache of a strategy when a kind first needs it. If this fails, other strategies still work.
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

// revisionCache caches the ControllerRevisions in which the loop keeps the history of pod templates. Revisions are
// optional. If they cannot be listed, this is logged once, and objects are reconciled without a history.
type revisionCache struct {
	*informer.Informer
	controller *Controller
	// unreadable is closed when giveUp is called.
	unreadable chan struct{}
	once       sync.Once
}

// revisionTimeout limits how long objects wait for the first list of revisions.
const revisionTimeout = 30 * time.Second

// await lets keep fill the cache, and waits until it is filled, giveUp is called, revisionTimeout is over, or ctx ends.
func (r *revisionCache) await(ctx context.Context) {
	select {
	case <-r.Need():
	case <-r.unreadable:
	case <-time.After(revisionTimeout):
		r.giveUp(fmt.Errorf("no complete list within %s", revisionTimeout))
	case <-ctx.Done():
	}
}

// giveUp logs the first error, and makes await return, so that objects are reconciled without a history.
func (r *revisionCache) giveUp(err error) {
	r.once.Do(func() {
		r.controller.report.Logf("cannot list %s: %v; trying again; the history of pod templates is not kept until then", r.Resource, err)
		close(r.unreadable)
	})
}

// keep fills the cache when it is first needed. It calls giveUp if the list is rejected or keeps failing.
func (r *revisionCache) keep(ctx context.Context) {
	failed := 0
	r.Run(ctx, func(err error) {
		if failed++; err != nil && (forbidden(err) || apierrors.IsNotFound(err) || failed == troubleAfter) {
			r.giveUp(err)
		}
	})
}

// resume requeues all objects after the first list of revisions if giveUp was called before.
func (r *revisionCache) resume() {
	select {
	case <-r.unreadable:
		r.controller.report.Logf("listed %s: keeping the history of pod templates", r.Resource)
		for _, o := range r.controller.kinds.list() {
			for _, k := range o.keys() {
				r.controller.wake(k, true, "revisions can be read")
			}
		}
	default:
	}
}
