// Package informer makes the caches of the loop: informers of client-go that tell
// once when the server does not answer, and those that are filled only when an
// object needs them.
package informer

import (
	"context"
	"errors"
	"net/url"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

// Health knows whether the server answers, and says so once when that changes.
// Informers retry forever and are silent where a connection is refused.
type Health struct {
	mu sync.Mutex
	// refused are the resources that the server does not let us watch, unanswered
	// those of which nothing is heard; lost says that this was said, and nothing since.
	refused, unanswered map[string]bool
	lost                bool
	say                 func(format string, args ...any)
}

// NewHealth makes a Health that says what it has to say.
func NewHealth(say func(format string, args ...any)) *Health {
	return &Health{say: say, refused: map[string]bool{}, unanswered: map[string]bool{}}
}

// observe takes the outcome of a list or of the start of a watch. An outage is told
// once, and not by each resource.
func (h *Health) observe(ctx context.Context, resource string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ctx.Err() != nil { // the loop stops: that is not the server's trouble
		delete(h.unanswered, resource)
		return
	}
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Cannot watch", "resource", resource, "err", err)
	}
	if outage(err) {
		if len(h.unanswered) == 0 {
			h.lost = true
			h.say("connection to the API server lost: %v; trying again", withoutURL(err))
		}
		h.unanswered[resource] = true
		return
	}
	delete(h.unanswered, resource)
	if h.lost && len(h.unanswered) == 0 {
		h.lost = false
		h.say("connected again")
	}
	switch {
	case err == nil:
		if h.refused[resource] {
			h.say("watching %s again", resource)
		}
		delete(h.refused, resource)
	case apierrors.IsNotFound(err), apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		// The CRD is gone, or a watch is too old.
	case !h.refused[resource]:
		h.refused[resource] = true
		h.say("cannot watch %s: %v; trying again", resource, err)
	}
}

// Forget drops what is known of a resource that is not watched any more: nothing will be
// heard of it.
func (h *Health) Forget(resource string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.unanswered, resource)
	delete(h.refused, resource)
}

// Refuses reports whether the server does not let us watch a resource: what was read of
// it is not kept up to date.
func (h *Health) Refuses(resource string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.refused[resource]
}

// outage reports whether an error is about the connection or the server as a whole.
func outage(err error) bool {
	var answer apierrors.APIStatus
	switch {
	case err == nil:
		return false
	case !errors.As(err, &answer):
		return true
	}
	return apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// withoutURL is an error without the request that it came of.
func withoutURL(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err
	}
	return err
}

// Source is what an informer lists and watches, and what it keeps of that.
type Source struct {
	// Resource is its name for people.
	Resource string
	List     func(context.Context, metav1.ListOptions) (runtime.Object, error)
	Watch    func(context.Context, metav1.ListOptions) (watch.Interface, error)
	// Selector is that of the labels of the objects; "": all are listed.
	Selector string
	// Client is what they are done with, which tells how it can be watched.
	Client any
	// Example is of the type of the objects.
	Example runtime.Object
	// Trim, if given, makes of an object what is kept of it.
	Trim cache.TransformFunc
	// Indexers find objects in the cache; nil: none.
	Indexers cache.Indexers
	// Missing, if given, is called when the server does not serve the resource.
	Missing func()
}

// Lists makes the List of a client that of a Source.
func Lists[T runtime.Object](list func(context.Context, metav1.ListOptions) (T, error)) func(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) { return list(ctx, opts) }
}

// Informer makes an informer over a source, which is yet to be run.
func (h *Health) Informer(s Source) (cache.SharedIndexInformer, error) {
	heard := func(ctx context.Context, err error) {
		h.observe(ctx, s.Resource, err)
		if apierrors.IsNotFound(err) && s.Missing != nil {
			s.Missing()
		}
	}
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			opts.LabelSelector = s.Selector
			list, err := s.List(ctx, opts)
			heard(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			opts.LabelSelector = s.Selector
			w, err := s.Watch(ctx, opts)
			if ptr.Deref(opts.SendInitialEvents, false) && apierrors.IsInvalid(err) {
				return w, err // a server older than 1.32; the informer lists instead
			}
			heard(ctx, err)
			return w, err
		},
	}
	informer := cache.NewSharedIndexInformerWithOptions(
		cache.ToListWatcherWithWatchListSemantics(lw, s.Client), s.Example, cache.SharedIndexInformerOptions{Indexers: s.Indexers})
	if err := informer.SetTransform(s.Trim); err != nil {
		return nil, err
	}
	err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		klog.FromContext(ctx).V(2).Info("Watch ended", "resource", s.Resource, "err", err)
	})
	return informer, err
}

// Object is the last known state of the object of an event, also where the watch
// missed its deletion.
func Object(obj any) any {
	if t, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		return t.Obj
	}
	return obj
}
