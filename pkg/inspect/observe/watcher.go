package observe

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// watcher collects the changes of one target and its children.
type watcher struct {
	changed chan struct{} // receives a value if something has changed since the last observation

	mu  sync.Mutex
	obj *unstructured.Unstructured // the newest version, or nil if the object does not exist
}

func newWatcher() *watcher { return &watcher{changed: make(chan struct{}, 1)} }

func (w *watcher) notify() {
	select {
	case w.changed <- struct{}{}:
	default: // an observation is already due
	}
}

// next waits for a change, a value from again, or the end of ctx. It returns the object, or nil if it does not exist.
func (w *watcher) next(ctx context.Context, again <-chan time.Time) (*unstructured.Unstructured, error) {
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-w.changed:
	case <-again:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.obj, nil
}

func (w *watcher) set(obj *unstructured.Unstructured) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.obj = obj
	w.notify()
}

// watchObject calls set with each version of the object, or with nil if it does not exist or has another UID.
func (w *watcher) watchObject(ctx context.Context, objects dynamic.ResourceInterface, goal WaitTarget, connection *follow.Connection) error {
	uid := goal.UID
	return follow.One(ctx, objects, goal.Target.Name, connection, func(obj *unstructured.Unstructured) (bool, error) {
		if obj != nil && uid == "" {
			uid = obj.GetUID()
		}
		if obj != nil && obj.GetUID() != uid {
			obj = nil
		}
		w.set(obj)
		return false, nil
	})
}
