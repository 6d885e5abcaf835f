package controller

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

// watchHealth knows whether the server answers, and says so once when that changes.
// Informers retry for ever and are silent where a connection is refused.
type watchHealth struct {
	mu   sync.Mutex
	down map[string]bool // by resource
	say  func(format string, args ...any)
}

// observe takes the outcome of a list or of the start of a watch.
func (l *watchHealth) observe(ctx context.Context, resource string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		if l.down[resource] {
			l.say("%s are watched again", resource)
		}
		delete(l.down, resource)
	case ctx.Err() != nil, apierrors.IsNotFound(err), apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		// The loop stops, the CRD is gone, a watch is too old: not the link's trouble.
	case !l.down[resource]:
		l.down[resource] = true
		l.say("cannot watch %s: %v; trying again", resource, err)
	}
}

// informerSource is what an informer of client-go lists and watches with.
type informerSource struct {
	resource string
	list     func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch    func(context.Context, metav1.ListOptions) (watch.Interface, error)
	// listed, if given, is called whenever all there is has been listed anew: at
	// the start, and where a watch could not go on from where it ended.
	listed func()
}

// informer makes an informer over a source. missing, if given, is called when
// the server does not serve the resource.
func (c *Controller) informer(s informerSource, client any, example runtime.Object, trim cache.TransformFunc, indexers cache.Indexers, missing func()) (cache.SharedIndexInformer, error) {
	heard := func(ctx context.Context, err error) {
		c.link.observe(ctx, s.resource, err)
		if apierrors.IsNotFound(err) && missing != nil {
			missing()
		}
	}
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			list, err := s.list(ctx, opts)
			heard(ctx, err)
			if err == nil && s.listed != nil {
				s.listed()
			}
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			w, err := s.watch(ctx, opts)
			heard(ctx, err)
			if err == nil && s.listed != nil && ptr.Deref(opts.SendInitialEvents, false) {
				w = notifyListed(w, s.listed)
			}
			return w, err
		},
	}
	informer := cache.NewSharedIndexInformerWithOptions(
		cache.ToListWatcherWithWatchListSemantics(lw, client), example, cache.SharedIndexInformerOptions{Indexers: indexers})
	if err := informer.SetTransform(trim); err != nil {
		return nil, err
	}
	err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		klog.FromContext(ctx).V(2).Info("Watch ended", "resource", s.resource, "err", err)
	})
	return informer, err
}

// notifyListed tells when a watch that begins with all there is has come to the
// end of that, which is a bookmark.
func notifyListed(w watch.Interface, listed func()) watch.Interface {
	return drained{watch.Filter(w, func(event watch.Event) (watch.Event, bool) {
		if event.Type == watch.Bookmark {
			if obj, err := meta.Accessor(event.Object); err == nil && obj.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
				listed()
			}
		}
		return event, true
	})}
}

// drained is a filtered watch whose goroutine ends when it is stopped, also
// while it holds an event that nobody takes any more.
type drained struct{ watch.Interface }

// Stop ends the watch.
func (d drained) Stop() {
	d.Interface.Stop()
	go func() {
		for range d.ResultChan() { // thrown away
		}
	}()
}
