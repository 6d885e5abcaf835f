package controller

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// crdInterval is how often the loop looks for a CRD that is not installed. A
// watch of CRDs would need a right that reconciling does not.
const crdInterval = time.Second

// follow watches a kind's objects until the context ends: from when its CRD is
// installed until it is removed, and again when it is back.
func (c *Controller) follow(ctx context.Context, o *owners) error {
	for first := !o.declared; ctx.Err() == nil; first = false {
		if err := c.awaitInstalled(ctx, o, first); err != nil {
			return err
		}
		if s := c.lazyInformerOf(o.kind); s != nil {
			s.waitForSync(ctx)
		}
		if err := c.followInstalled(ctx, o); err != nil {
			return fmt.Errorf("watch %s: %w", o.kind.CRD(), err)
		}
	}
	return nil
}

// followInstalled watches a kind's objects until its CRD is removed.
func (c *Controller) followInstalled(ctx context.Context, o *owners) error {
	installed, removed := context.WithCancel(ctx)
	defer removed()
	objects := o.client.Namespace(c.namespace)
	informer, err := c.informer(informerSource{
		resource: o.kind.CRD(),
		list: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			opts.LabelSelector = c.selector.String()
			return objects.List(ctx, opts)
		},
		watch: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			opts.LabelSelector = c.selector.String()
			return objects.Watch(ctx, opts)
		},
	}, o.client, &unstructured.Unstructured{}, trimOwner(o.kind), ownerIndexers(o.kind), removed)
	if err != nil {
		return err
	}
	handled, err := informer.AddEventHandler(c.ownerEvents(o))
	if err != nil {
		return err
	}
	o.setStore(informer.GetIndexer(), handled.HasSynced)
	go func() {
		if cache.WaitForCacheSync(installed.Done(), handled.HasSynced) {
			c.syncStates.notify()
		}
	}()
	informer.RunWithContext(installed)
	if ctx.Err() == nil {
		o.setStore(nil, nil) // what a loop knew that has ended stays to be told
	}
	return nil
}

// awaitInstalled returns when the kind is served. Missing rights are waited out,
// unless no kind may be read from the start of a loop that does not resume, which
// is an error.
func (c *Controller) awaitInstalled(ctx context.Context, o *owners, first bool) error {
	missing, troubled := false, false
	return wait.PollUntilContextCancel(ctx, crdInterval, true, func(ctx context.Context) (bool, error) {
		_, err := o.client.Namespace(c.namespace).List(ctx, metav1.ListOptions{LabelSelector: c.selector.String(), Limit: 1})
		crd, absent := o.kind.CRD(), apierrors.IsNotFound(err)
		if absent || forbidden(err) {
			o.setMissing()
			c.syncStates.notify()
		}
		if first {
			first = false
			var denied error
			if forbidden(err) && !c.resumed {
				denied = fmt.Errorf("list %s: %w", crd, err)
			}
			notInstalled, err := c.preflight.answer(crd, absent, denied)
			if err != nil {
				return false, err
			}
			c.logNotInstalled(notInstalled...)
		} else if absent && !missing && !o.declared {
			c.logNotInstalled(crd)
		}
		switch {
		case err == nil:
			if missing && !o.declared {
				c.logf("%s is installed now", crd)
			}
			return true, nil
		case absent:
			missing = true
		case !troubled && ctx.Err() == nil:
			c.logf("cannot list %s: %v; trying again", crd, err)
			troubled = true
		}
		return false, nil
	})
}

// What an event says of an object, as a reason to look.
const (
	added   = "was added"
	updated = "was updated"
	deleted = "was deleted"
)

// ownerEvents puts an object into the queue when something changed that a plan
// reads, or when the loop waits to see what it wrote itself.
func (c *Controller) ownerEvents(o *owners) cache.ResourceEventHandler {
	enqueue := func(obj any, changed bool, how string) {
		u, ok := untombed(obj).(*unstructured.Unstructured)
		if !ok {
			return
		}
		k := key{kind: o.kind.CRD(), namespace: u.GetNamespace(), name: u.GetName()}
		if changed || c.expectations.isWaiting(k) {
			c.wake(k, "it", how)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { enqueue(obj, true, added) },
		UpdateFunc: func(old, obj any) {
			before, ok := old.(*unstructured.Unstructured)
			after, ok2 := obj.(*unstructured.Unstructured)
			changed := !ok || !ok2 || differs(o.kind, before, after)
			if !changed {
				k := key{kind: o.kind.CRD(), namespace: after.GetNamespace(), name: after.GetName()}
				changed = c.statusChanged(k, o.kind, before, after)
			}
			enqueue(obj, changed, updated)
		},
		DeleteFunc: func(obj any) { enqueue(obj, true, deleted) },
	}
}

// podEvents puts the owner of a pod into the queue, likewise.
func (c *Controller) podEvents() cache.ResourceEventHandler {
	enqueue := func(obj any, changed bool, how string) {
		r, ok := untombed(obj).(*podRecord)
		if !ok || r.controller() == nil {
			return
		}
		owners := c.kinds.ofPod(r.controller())
		if owners == nil {
			if changed {
				c.enqueueNamers(r)
			}
			return
		}
		k := key{kind: owners.kind.CRD(), namespace: r.Namespace, name: r.controller().Name}
		if how == deleted {
			c.expectations.gone(k, r)
		}
		if changed || c.expectations.isWaiting(k) {
			c.wake(k, "pod", r.Name, how)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { enqueue(obj, true, added) },
		UpdateFunc: func(old, obj any) {
			before, ok := old.(*podRecord)
			after, ok2 := obj.(*podRecord)
			changed := !ok || !ok2 || after.differs(*before)
			enqueue(obj, changed, updated)
			if changed && ok && ok2 && before.ownerUID() != after.ownerUID() {
				enqueue(old, true, "was released") // its owner changed: its slot is to be looked at
			}
		},
		DeleteFunc: func(obj any) { enqueue(obj, true, deleted) },
	}
}

// enqueueNamers puts the object whose Deployment has a pod into the queue, if
// its kind tells the names of the pods. Nothing else of them is read.
func (c *Controller) enqueueNamers(r *podRecord) {
	if r.deployment == "" {
		return
	}
	for _, o := range c.kinds.by(kinds.StrategyDeployment) {
		if len(o.kind.Mapping.Status.PodNames) == 0 {
			continue
		}
		for _, obj := range o.find(byUID, string(r.label)) {
			c.wake(key{kind: o.kind.CRD(), namespace: obj.GetNamespace(), name: obj.GetName()}, "pod", r.Name, "changed")
		}
	}
}

// untombed is the last known state of a deleted object, also where the watch
// missed the deletion itself.
func untombed(obj any) any {
	if t, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		return t.Obj
	}
	return obj
}
