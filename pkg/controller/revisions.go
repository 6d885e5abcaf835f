package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/report"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// revisions is the cache of the ControllerRevisions in which the loop keeps the
// templates that objects had. It is a convenience for people: where revisions cannot
// be read or written, that is said once, and pods go on without.
type revisions struct {
	*informer.Lazy
	loop *loop
	// unreadable is closed, once, when they cannot be read for now.
	unreadable chan struct{}
	once       sync.Once
}

// historyPatience is how long pods wait at the start until the revisions have been read.
const historyPatience = 30 * time.Second

// newRevisions makes the cache, which is yet to be filled.
func newRevisions(l *loop) (*revisions, error) {
	lazy, err := l.health.Lazy(strategy.RevisionSource(l.clients()))
	if err != nil {
		return nil, err
	}
	r := &revisions{Lazy: lazy, loop: l, unreadable: make(chan struct{})}
	_, err = lazy.AddEventHandler(r.events())
	return r, err
}

// await returns when the cache is filled, when it is known that it cannot be for now,
// or when the context ends. Before, a plan would take objects for ones without a history.
func (r *revisions) await(ctx context.Context) {
	select {
	case <-r.Need():
	case <-r.unreadable:
	case <-time.After(historyPatience):
		r.giveUp(fmt.Errorf("no complete list within %s", historyPatience))
	case <-ctx.Done():
	}
}

// giveUp has pods go on without a history, and says why.
func (r *revisions) giveUp(err error) {
	r.once.Do(func() {
		r.loop.report.Logf("cannot list %s: %v; trying again; the history of pod templates is not kept until then", r.Resource(), err)
		close(r.unreadable)
	})
}

// keep fills the cache when the first kind needs it. Where that is not possible for
// now, it is said once; when it is possible, all objects get what they lack.
func (r *revisions) keep(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() {
		select {
		case <-r.unreadable:
		case <-ctx.Done():
			return
		}
		if r.WaitForSync(ctx); !r.Filled() {
			return
		}
		r.loop.report.Logf("listed %s: keeping the history of pod templates", r.Resource())
		for _, o := range r.loop.kinds.list() {
			for _, k := range o.keys() {
				r.loop.queue.Wake(k, "revisions can be read")
			}
		}
	})
	failed := 0
	r.Keep(ctx, func(err error) {
		if err == nil {
			return
		}
		if failed++; forbidden(err) || apierrors.IsNotFound(err) || failed == troubleAfter {
			r.giveUp(err)
		}
	})
}

// behind reports whether the cache has yet to see a write of the loop's own. One that
// may not be kept up to date any more is not waited for: plans are safe on it, only
// wasteful.
func (r *revisions) behind(written string) bool {
	return written != "" && !r.loop.health.Refuses(r.Resource()) && informer.Behind(r.GetStore(), written)
}

// read completes the view of an object by its revisions, if they are known.
func (r *revisions) read(v *plan.View, obj *unstructured.Unstructured) error {
	if !r.Filled() {
		return nil
	}
	return strategy.ReadRevisions(v, obj, r.GetIndexer())
}

// events puts the owner of a revision into the queue when something changed that its
// plan has to put right, or when the loop waits to see what it wrote itself.
func (r *revisions) events() cache.ResourceEventHandler {
	wake := func(obj any, how string, changed func(current bool) bool) {
		revision, ok := informer.Object(obj).(*strategy.RevisionRecord)
		if !ok {
			return
		}
		o, owner := r.ownerOf(revision)
		if owner == nil {
			return
		}
		// Of a large object the cache does not hold the template.
		_, outlined := owner.GetAnnotations()[annotationOutline]
		k := o.key(owner)
		if r.loop.memory.Behind(k) || outlined || changed(revision.Revision.Template == kinds.TemplateHash(o.kind, owner)) {
			r.loop.queue.Wake(k, "revision", revision.Name, how)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { wake(obj, added, func(current bool) bool { return !current }) },
		UpdateFunc: func(old, obj any) {
			before, ok := old.(*strategy.RevisionRecord)
			after, ok2 := obj.(*strategy.RevisionRecord)
			wake(obj, updated, func(current bool) bool { return !ok || !ok2 || after.Moved(before, current) })
		},
		DeleteFunc: func(obj any) { wake(obj, deleted, func(current bool) bool { return current }) },
	}
}

// ownerOf is the object that a revision concerns, nil for none. With an object that is
// deleted goes all its history, which concerns nobody.
func (r *revisions) ownerOf(revision *strategy.RevisionRecord) (*owners, *unstructured.Unstructured) {
	ref := metav1.GetControllerOfNoCopy(revision)
	if ref == nil {
		return nil, nil
	}
	o := r.loop.kinds.of(ref)
	if o == nil {
		return nil, nil
	}
	owner := o.get(revision.Namespace, ref.Name)
	if owner == nil || owner.GetUID() != ref.UID || owner.GetDeletionTimestamp() != nil {
		return nil, nil
	}
	return o, owner
}

// recorded notes what came of the revisions of a plan. That one was refused is told
// once, until another is written.
func (r *reconciler) recorded(k memory.Key, o *owners, obj *unstructured.Unstructured, rec *memory.Object, of plan.Owner, out *strategy.Outcome) {
	why, refused := out.Declined[plan.KindRevision]
	switch {
	case refused:
		told := rec.Plan.Unrecorded != plan.Unrecorded{}
		rec.Plan.Unrecorded = plan.Unrecorded{Template: of.TemplateHash, Generation: of.Generation}
		if !told {
			const message = "cannot keep the history of the pod template: %s"
			r.report.Event(report.Reference(o.kind, obj), corev1.EventTypeWarning, "FailedRevision", message, why)
			r.report.LogObject(k, message, why)
		}
	case out.Written[r.revisions.Resource()] != "":
		rec.Plan.Unrecorded, rec.Failing = plan.Unrecorded{}, 0
	}
}
