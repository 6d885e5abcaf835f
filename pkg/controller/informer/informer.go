// Package informer makes the caches of the loop: shared informers of client-go that report
// an outage of the server once, and that are filled when they are first needed.
package informer

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

// retryPeriod is how often an informer tries whether its resource can be listed.
const retryPeriod = time.Second

// Source is a resource, and how its objects are cached.
type Source struct {
	// Resource names the resource. Singular names one object of the resource.
	Resource, Singular string
	List               func(context.Context, metav1.ListOptions) (runtime.Object, error)
	Watch              func(context.Context, metav1.ListOptions) (watch.Interface, error)
	// Selector selects the objects by their labels; "" selects all.
	Selector string
	// Client lists and watches. It decides whether a watch may begin with the objects.
	Client any
	// Example has the type of the objects.
	Example runtime.Object
	// Trim, if set, returns what the cache keeps of an object.
	Trim cache.TransformFunc
	// Equal reports whether plans read the same in two states of an object.
	Equal    func(before, after any) bool
	Indexers cache.Indexers
	// Missing, if set, is called when the server does not serve the resource.
	Missing func()
}

// Lists adapts the List function of a client to the type of Source.List.
func Lists[T runtime.Object](list func(context.Context, metav1.ListOptions) (T, error)) func(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) { return list(ctx, opts) }
}

// Equal adapts a comparison of cached objects to the type of Source.Equal.
func Equal[T any](equal func(before, after T) bool) func(before, after any) bool {
	return func(before, after any) bool {
		a, ok := before.(T)
		b, ok2 := after.(T)
		return ok && ok2 && equal(a, b)
	}
}

// Informer caches the objects of a source from when they are first needed. Whoever needs
// them waits until the cache is filled: an empty one would say that there are none.
type Informer struct {
	cache.SharedIndexInformer
	Source

	health         *Health
	once           sync.Once
	needed, filled chan struct{}
}

// New makes an Informer, which is yet to be run.
func (h *Health) New(s Source) *Informer {
	observe := func(ctx context.Context, err error) {
		h.observe(ctx, s.Resource, err)
		if apierrors.IsNotFound(err) && s.Missing != nil {
			s.Missing()
		}
	}
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			opts.LabelSelector = s.Selector
			list, err := s.List(ctx, opts)
			observe(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			opts.LabelSelector = s.Selector
			w, err := s.Watch(ctx, opts)
			if !ptr.Deref(opts.SendInitialEvents, false) || !apierrors.IsInvalid(err) {
				observe(ctx, err) // else the server is older than 1.32, and the informer lists instead
			}
			return w, err
		},
	}
	informer := cache.NewSharedIndexInformerWithOptions(
		cache.ToListWatcherWithWatchListSemantics(lw, s.Client), s.Example, cache.SharedIndexInformerOptions{Indexers: s.Indexers})
	// These return an error only of an informer that runs.
	utilruntime.Must(informer.SetTransform(s.Trim))
	utilruntime.Must(informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		klog.FromContext(ctx).V(2).Info("Watch ended", "resource", s.Resource, "err", err)
	}))
	return &Informer{SharedIndexInformer: informer, Source: s, health: h, needed: make(chan struct{}), filled: make(chan struct{})}
}

// Handle passes the events of an informer that does not yet run to a handler. It returns
// a function that reports whether the objects of the first list have been handled.
func (i *Informer) Handle(handler cache.ResourceEventHandler) (hasSynced func() bool) {
	registration, err := i.AddEventHandler(handler)
	utilruntime.Must(err) // only of one that has stopped
	return registration.HasSynced
}

// Need has the cache filled, and returns a channel that is closed when it is.
func (i *Informer) Need() <-chan struct{} {
	i.once.Do(func() { close(i.needed) })
	return i.filled
}

// Filled reports whether the cache is filled.
func (i *Informer) Filled() bool {
	select {
	case <-i.filled:
		return true
	default:
		return false
	}
}

// Run fills the cache from when it is needed until the context ends. It first tries, again
// and again, whether the resource can be listed, and passes each result to tried.
func (i *Informer) Run(ctx context.Context, tried func(error)) {
	select {
	case <-i.needed:
	case <-ctx.Done():
		return
	}
	err := wait.PollUntilContextCancel(ctx, retryPeriod, true, func(ctx context.Context) (bool, error) {
		_, err := i.List(ctx, metav1.ListOptions{LabelSelector: i.Selector, Limit: 1})
		if ctx.Err() == nil {
			tried(err)
		}
		return err == nil, nil
	})
	if err != nil || ctx.Err() != nil {
		return
	}
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { i.RunWithContext(ctx) })
	if cache.WaitForCacheSync(ctx.Done(), i.HasSynced) {
		close(i.filled)
	}
}

// Object returns the last known state of the object of an event, also if the watch missed
// its deletion.
func Object(obj any) any {
	if t, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		return t.Obj
	}
	return obj
}
