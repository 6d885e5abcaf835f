package observe

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// watcher collects the changes of one target, and of what stands below it.
type watcher struct {
	// changed receives a value if there has been a change since the last look.
	changed chan struct{}

	mu sync.Mutex
	// obj is the newest version of the object; nil, there is none.
	obj *unstructured.Unstructured
}

func newWatcher() *watcher { return &watcher{changed: make(chan struct{}, 1)} }

func (c *watcher) notify() {
	select {
	case c.changed <- struct{}{}:
	default: // a look is due already
	}
}

// next waits for a change, or until it is time to look again, and returns the newest version
// of the object; nil, there is none.
func (c *watcher) next(ctx context.Context, again <-chan time.Time) (*unstructured.Unstructured, error) {
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-c.changed:
	case <-again:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.obj, nil
}

func (c *watcher) set(obj *unstructured.Unstructured) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.obj = obj
	c.notify()
}

// watchObject watches the object of a wait. It ignores other objects of its name, and versions
// older than the one that the wait begins with.
func (c *watcher) watchObject(ctx context.Context, objects dynamic.ResourceInterface, w WaitTarget, connection *follow.Connection) error {
	uid := w.UID
	return follow.One(ctx, objects, w.Target.Name, w.Since, connection, func(obj *unstructured.Unstructured) (bool, error) {
		switch {
		case obj == nil, uid != "" && obj.GetUID() != uid:
			c.set(nil)
		case w.Since == "" || AtLeast(obj, w.Since):
			uid = obj.GetUID()
			c.set(obj)
		}
		return false, nil
	})
}
