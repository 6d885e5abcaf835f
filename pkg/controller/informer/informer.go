// Package informer creates the caches of the loop: client-go shared informers that log a server outage only once.
package informer

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// Source describes a resource, and how to cache its objects.
type Source struct {
	*cache.ListWatch
	// Resource is the name of the resource in the log, such as "pods". Singular is its singular form.
	Resource, Singular string
	// Selector selects the objects by their labels; "" selects all.
	Selector string
	// Example is an object of the type to cache.
	Example runtime.Object
	// Trim returns the part of an object that is cached.
	Trim cache.TransformFunc
	// Equal reports whether plans can ignore the difference between two states of an object.
	Equal    func(before, after any) bool
	Indexers cache.Indexers
	// OnMissing, if set, is called when the server does not serve the resource. OnFilled, if set,
	// is called after the objects of the first list have been handled.
	OnMissing, OnFilled func()
}

// SourceOf returns a Source of objects. trim returns the part of an object that is cached, and equal reports whether
// plans can ignore the difference between two such parts.
func SourceOf[O, P any](
	resource string, objects *cache.ListWatch, example runtime.Object, trim func(O) any, equal func(before, after P) bool,
) Source {
	return Source{
		ListWatch: objects, Resource: resource, Example: example,
		Trim: func(obj any) (any, error) {
			if o, ok := obj.(O); ok {
				return trim(o), nil
			}
			return obj, nil // client-go transforms the objects of a streamed list twice
		},
		Equal: func(before, after any) bool {
			a, ok := before.(P)
			b, ok2 := after.(P)
			return ok && ok2 && equal(a, b) // other types, such as stubs of pods, are never equal
		},
	}
}

// Informer caches the objects of a Source. Callers must wait until the cache is filled, because an
// empty cache looks as if no objects exist.
type Informer struct {
	cache.SharedIndexInformer
	Source

	health *Health
	// filled is done when the objects of the first list are cached and have been handled.
	filled cache.DoneChecker
	once   sync.Once
	needed chan struct{}
}

// New returns an Informer that reports to h. Run or RunWithContext starts it. The Informer calls changed for each event
// except an update that plans can ignore. before is nil if the object was added, and after is nil if it was deleted.
// initial means that the object was in the first list.
func (h *Health) New(s Source, changed func(before, after any, initial bool)) *Informer {
	observe := func(ctx context.Context, err error) {
		h.observe(ctx, s.Resource, err)
		if apierrors.IsNotFound(err) && s.OnMissing != nil {
			s.OnMissing()
		}
	}
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			opts.LabelSelector = s.Selector
			list, err := s.ListWithContext(ctx, opts)
			observe(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			opts.LabelSelector = s.Selector
			w, err := s.WatchWithContext(ctx, opts)
			if !ptr.Deref(opts.SendInitialEvents, false) || !apierrors.IsInvalid(err) {
				observe(ctx, err) // otherwise, the server cannot stream lists, and the informer falls back to a list
			}
			return w, err
		},
	}
	informer := cache.NewSharedIndexInformerWithOptions(lw, s.Example, cache.SharedIndexInformerOptions{Indexers: s.Indexers})
	// These calls fail only if the informer is already running, or has stopped.
	utilruntime.Must(informer.SetTransform(s.Trim))
	utilruntime.Must(informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		klog.FromContext(ctx).V(2).Info("Watch ended", "resource", s.Resource, "err", err)
	}))
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) { changed(nil, obj, initial) },
		UpdateFunc: func(before, after any) {
			if !s.Equal(before, after) {
				changed(before, after, false)
			}
		},
		DeleteFunc: func(obj any) {
			if missed, is := obj.(cache.DeletedFinalStateUnknown); is {
				obj = missed.Obj // the last known state, because the watch missed the deletion
			}
			changed(obj, nil, false)
		},
	})
	utilruntime.Must(err)
	return &Informer{
		SharedIndexInformer: informer, Source: s,
		health: h, filled: registration.HasSyncedChecker(), needed: make(chan struct{}),
	}
}

// Need lets Run fill the cache, and returns a channel that is closed when the cache is filled.
func (i *Informer) Need() <-chan struct{} {
	i.once.Do(func() { close(i.needed) })
	return i.filled.Done()
}

// Filled reports whether the objects of the first list are cached and have been handled.
func (i *Informer) Filled() bool { return cache.IsDone(i.filled) }

// Run waits until Need is called and the resource can be listed, and then calls RunWithContext. After
// each attempt to list the resource, it calls tried with the error or nil.
func (i *Informer) Run(ctx context.Context, tried func(error)) {
	select {
	case <-i.needed:
	case <-ctx.Done():
		return
	}
	err := wait.PollUntilContextCancel(ctx, follow.Pause, true, func(ctx context.Context) (bool, error) {
		_, err := i.ListWithContext(ctx, metav1.ListOptions{LabelSelector: i.Selector, Limit: 1})
		if ctx.Err() == nil {
			tried(err)
		}
		return err == nil, nil
	})
	if err == nil && ctx.Err() == nil {
		i.RunWithContext(ctx)
	}
}

// RunWithContext fills the cache, and keeps it up to date until the context ends.
func (i *Informer) RunWithContext(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { i.SharedIndexInformer.RunWithContext(ctx) })
	if cache.WaitFor(ctx, "", i.filled) && i.OnFilled != nil {
		i.OnFilled()
	}
}

// Behind reports whether the cache lacks a write. written is the resourceVersion in the response to the write; KEP-5504
// makes resourceVersions comparable. Behind returns false if the comparison fails or the server rejects lists or
// watches, because a plan from an old cache is safe.
func (i *Informer) Behind(written string) bool {
	return Older(i.GetStore().LastStoreSyncResourceVersion(), written) && !i.health.refuses(i.Resource)
}

// Later returns the higher of two resourceVersions, or a if the comparison fails. "" is lower than any other.
func Later(a, b string) string {
	if a == "" || Older(a, b) {
		return b
	}
	return a
}

// Older reports whether the resourceVersion a is lower than b. It returns false if the comparison fails.
func Older(a, b string) bool {
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && c < 0
}
