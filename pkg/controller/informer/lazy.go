package informer

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
)

// tryAgain is how often it is tried whether something may be listed now.
const tryAgain = time.Second

// Lazy is a cache that is filled when it is first needed. Who needs it waits until
// it is: of a cache that is still empty one would believe that there is nothing.
type Lazy struct {
	cache.SharedIndexInformer

	source Source
	once   sync.Once
	needed chan struct{}
	filled chan struct{}
}

// Lazy makes such a cache of a source.
func (h *Health) Lazy(s Source) (*Lazy, error) {
	informer, err := h.Informer(s)
	if err != nil {
		return nil, err
	}
	return &Lazy{SharedIndexInformer: informer, source: s, needed: make(chan struct{}), filled: make(chan struct{})}, nil
}

// Resource is what it holds, for people.
func (l *Lazy) Resource() string { return l.source.Resource }

// WaitForSync returns when the cache is filled, or the context ends.
func (l *Lazy) WaitForSync(ctx context.Context) {
	select {
	case <-l.Need():
	case <-ctx.Done():
	}
}

// Need has the cache filled, and returns a channel that is closed when it is.
func (l *Lazy) Need() <-chan struct{} {
	l.once.Do(func() { close(l.needed) })
	return l.filled
}

// Filled reports whether the cache is filled.
func (l *Lazy) Filled() bool {
	select {
	case <-l.filled:
		return true
	default:
		return false
	}
}

// Keep fills the cache from when it is first needed until the context ends. It
// asks first, and again and again, whether the source may be listed; tried takes
// each answer but those that come as the context ends.
func (l *Lazy) Keep(ctx context.Context, tried func(error)) {
	select {
	case <-l.needed:
	case <-ctx.Done():
		return
	}
	err := wait.PollUntilContextCancel(ctx, tryAgain, true, func(ctx context.Context) (bool, error) {
		_, err := l.source.List(ctx, metav1.ListOptions{LabelSelector: l.source.Selector, Limit: 1})
		if err == nil || ctx.Err() == nil {
			tried(err)
		}
		return err == nil, nil
	})
	if err != nil {
		return // the context has ended
	}
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { l.RunWithContext(ctx) })
	if cache.WaitForCacheSync(ctx.Done(), l.HasSynced) {
		close(l.filled)
	}
}
