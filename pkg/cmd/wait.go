package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// awaitObject asks done of an object, nil when it is not there, now and after
// every change, until it says yes or the timeout has passed (ErrTimeout).
func awaitObject(ctx context.Context, objects dynamic.ResourceInterface, name string, timeout time.Duration, done func(*unstructured.Unstructured) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, ErrTimeout)
	defer cancel()
	present := func(store cache.Store) (bool, error) {
		for _, item := range store.List() {
			if obj, ok := item.(*unstructured.Unstructured); ok {
				return done(obj)
			}
		}
		return done(nil)
	}
	_, err := watchtools.UntilWithSync(ctx, objectsNamed(objects, name), &unstructured.Unstructured{}, present,
		func(event watch.Event) (bool, error) {
			obj, ok := event.Object.(*unstructured.Unstructured)
			if !ok || event.Type == watch.Deleted {
				return done(nil)
			}
			return done(obj)
		})
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err //nolint:wrapcheck // done's own error, or the server's
}

// objectsNamed lists and watches the one object of a name.
func objectsNamed(objects dynamic.ResourceInterface, name string) *cache.ListWatch {
	return listWatch(objects, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()})
}

// listWatch lists and watches the objects that the options select.
func listWatch(objects dynamic.ResourceInterface, selected metav1.ListOptions) *cache.ListWatch {
	narrow := func(opts metav1.ListOptions) metav1.ListOptions {
		opts.FieldSelector, opts.LabelSelector = selected.FieldSelector, selected.LabelSelector
		return opts
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return objects.List(ctx, narrow(opts))
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return objects.Watch(ctx, narrow(opts))
		},
	}
}

// atLeast says whether an object is as new as a resourceVersion: a list may
// come from a server's cache that lags behind the write it follows.
func atLeast(obj *unstructured.Unstructured, resourceVersion string) bool {
	c, err := resourceversion.CompareResourceVersion(obj.GetResourceVersion(), resourceVersion)
	return err != nil || c >= 0 // versions that cannot be compared prove nothing
}

// withReason adds to a time-out what was last seen.
func withReason(err error, reason string) error {
	if errors.Is(err, ErrTimeout) {
		return fmt.Errorf("%w; last seen %s", err, reason)
	}
	return err
}
