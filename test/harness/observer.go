package harness

import (
	"context"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Observer watches objects independently of the program under test. Its lock protects what the test records about them.
type Observer struct {
	sync.Mutex

	// changed, if it is not nil, is closed at the next event.
	changed chan struct{}
}

// Observe watches the objects of a resource until the test ends. It calls saw for each new state of
// an object and for each deletion, with the observer locked. It returns when it has listed the objects.
func (o *Observer) Observe(
	t *testing.T, c *Cluster, resource schema.GroupVersionResource, namespace string,
	saw func(obj *unstructured.Unstructured, gone bool),
) {
	t.Helper()
	objects := c.Dynamic.Resource(resource).Namespace(namespace)
	note := func(obj any, gone bool) {
		if tomb, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = tomb.Obj
		}
		seen, ok := obj.(*unstructured.Unstructured)
		if !ok {
			t.Errorf("the watch of %s delivered a %T, want an Unstructured", resource.Resource, obj)
			return
		}
		o.Lock()
		defer o.Unlock()
		saw(seen, gone)
		if o.changed != nil {
			close(o.changed)
			o.changed = nil
		}
	}
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
				return objects.List(ctx, opts)
			},
			WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
				return objects.Watch(ctx, opts)
			},
		},
		ObjectType: &unstructured.Unstructured{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { note(obj, false) },
			UpdateFunc: func(_, obj any) { note(obj, false) },
			DeleteFunc: func(obj any) { note(obj, true) },
		},
	})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
		t.Fatalf("the watch of %s was not in sync when the test ended", resource.Resource)
	}
}

// next returns a channel that is closed at the next event. The observer must be locked.
func (o *Observer) next() <-chan struct{} {
	if o.changed == nil {
		o.changed = make(chan struct{})
	}
	return o.changed
}

// Changed returns a channel that is closed at the next event.
func (o *Observer) Changed() <-chan struct{} {
	o.Lock()
	defer o.Unlock()
	return o.next()
}

// Within waits at most d for a condition, and reports whether it is met. It calls condition with the observer locked.
func (o *Observer) Within(d time.Duration, condition func() bool) bool {
	for end := time.After(d); ; {
		o.Lock()
		met, changed := condition(), o.next()
		o.Unlock()
		if met {
			return true
		}
		select {
		case <-changed:
		case <-end:
			return false
		}
	}
}

// As converts an object to the Go type T.
func As[T any](t *testing.T, obj *unstructured.Unstructured) *T {
	t.Helper()
	into := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, into); err != nil {
		t.Error(err)
	}
	return into
}
