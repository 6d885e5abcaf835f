package controller

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// link knows whether the server answers, and says so once when that changes.
// Informers retry for ever and are silent where a connection is refused.
type link struct {
	mu   sync.Mutex
	down map[string]bool // by resource
	say  func(format string, args ...any)
}

// heard takes the outcome of a list or of the start of a watch.
func (l *link) heard(ctx context.Context, resource string, err error) {
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

// source is what an informer of client-go lists and watches with.
type source struct {
	resource string
	list     func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch    func(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// informer makes an informer over a source. missing, if given, is called when
// the server does not serve the resource.
func (c *Controller) informer(s source, client any, example runtime.Object, trim cache.TransformFunc, indexers cache.Indexers, missing func()) (cache.SharedIndexInformer, error) {
	heard := func(ctx context.Context, err error) {
		c.link.heard(ctx, s.resource, err)
		if apierrors.IsNotFound(err) && missing != nil {
			missing()
		}
	}
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			list, err := s.list(ctx, opts)
			heard(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			w, err := s.watch(ctx, opts)
			heard(ctx, err)
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
