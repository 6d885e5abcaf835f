package controller

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// crdInterval is how often the loop looks for a CRD that is not installed. A
// watch of CRDs would need a right that reconciling does not.
const crdInterval = time.Second

// follower watches the objects of kinds, each from when its CRD is installed.
type follower struct {
	*loop
	preflight preflight
}

// follow watches a kind's objects until the context ends: from when its CRD is
// installed until it is removed, and again when it is back.
func (f *follower) follow(ctx context.Context, o *owners) error {
	for first := !o.declared; ctx.Err() == nil; first = false {
		if err := f.awaitInstalled(ctx, o, first); err != nil {
			return err
		}
		if input := f.inputs[o.kind.Mapping.Strategy]; input != nil {
			input.WaitForSync(ctx)
		}
		f.revisions.await(ctx)
		if err := f.followInstalled(ctx, o); err != nil {
			return fmt.Errorf("watch %s: %w", o.kind.CRD(), err)
		}
	}
	return nil
}

// followInstalled watches a kind's objects until its CRD is removed.
func (f *follower) followInstalled(ctx context.Context, o *owners) error {
	installed, removed := context.WithCancel(ctx)
	defer removed()
	objects := o.client.Namespace(f.Namespace)
	objectInformer, err := f.health.Informer(informer.Source{
		Resource: o.kind.CRD(),
		List:     informer.Lists(objects.List),
		Watch:    objects.Watch,
		Selector: f.Selector.String(),
		Client:   o.client, Example: &unstructured.Unstructured{}, Trim: trimOwner(o.kind),
		Indexers: o.indexers(), Missing: removed,
	})
	if err != nil {
		return err
	}
	handled, err := objectInformer.AddEventHandler(f.ownerEvents(o))
	if err != nil {
		return err
	}
	o.setStore(objectInformer.GetIndexer(), handled.HasSynced)
	go func() {
		if cache.WaitForCacheSync(installed.Done(), handled.HasSynced) {
			f.memory.Notify()
		}
	}()
	objectInformer.RunWithContext(installed)
	f.health.Forget(o.kind.CRD())
	if ctx.Err() == nil {
		o.setStore(nil, nil) // what a loop knew that has ended stays to be told
	}
	return nil
}

// awaitInstalled returns when the kind is served. Missing rights are waited out,
// unless no kind may be read from the start of a loop that does not resume, which
// is an error.
func (f *follower) awaitInstalled(ctx context.Context, o *owners, first bool) error {
	missing, troubled := false, false
	return wait.PollUntilContextCancel(ctx, crdInterval, true, func(ctx context.Context) (bool, error) {
		_, err := o.client.Namespace(f.Namespace).List(ctx, metav1.ListOptions{LabelSelector: f.Selector.String(), Limit: 1})
		crd, absent := o.kind.CRD(), apierrors.IsNotFound(err)
		switch {
		case absent:
			o.setMissing()
			f.memory.Notify()
		case forbidden(err):
			o.setRefused(err)
			f.memory.Notify()
		}
		if first {
			first = false
			var denied error
			if forbidden(err) && !f.Resumed {
				denied = fmt.Errorf("list %s: %w", crd, err)
			}
			notInstalled, err := f.preflight.answer(crd, absent, denied)
			if err != nil {
				return false, err
			}
			f.logNotInstalled(notInstalled...)
		} else if absent && !missing && !o.declared {
			f.logNotInstalled(crd)
		}
		switch {
		case err == nil:
			if missing && !o.declared {
				f.report.Logf("%s is installed", crd)
			}
			return true, nil
		case absent:
			missing = true
		case !troubled && ctx.Err() == nil:
			f.report.Logf("cannot list %s: %v; trying again", crd, err)
			troubled = true
		}
		return false, nil
	})
}

// ownerEvents puts an object into the queue when something changed that a plan
// reads, or when the loop waits to see what it wrote itself.
func (f *follower) ownerEvents(o *owners) cache.ResourceEventHandler {
	enqueue := func(obj any, changed bool, how string) {
		u, ok := informer.Object(obj).(*unstructured.Unstructured)
		if !ok {
			return
		}
		f.wake(o.key(u), changed, how, "it", how)
	}
	return handler(enqueue, func(old, obj any) {
		before, ok := old.(*unstructured.Unstructured)
		after, ok2 := obj.(*unstructured.Unstructured)
		changed := !ok || !ok2 || differs(o.kind, before, after)
		if !changed {
			changed = f.statusChanged(o.key(after), o.kind, before, after)
		}
		enqueue(obj, changed, updated)
	})
}

// statusChanged reports whether somebody else has changed what a plan writes of
// an object's status.
func (f *follower) statusChanged(k memory.Key, kind kinds.Kind, before, after *unstructured.Unstructured) bool {
	now := strategy.DecodeStatus(kind.Mapping.Status, after)
	return !equality.Semantic.DeepEqual(now, strategy.DecodeStatus(kind.Mapping.Status, before)) && !f.memory.WroteStatus(k, now)
}
