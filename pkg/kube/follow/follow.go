// Package follow lists and then watches objects. It resumes interrupted watches.
package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/klog/v2"
)

// SourceOf returns functions that list and watch objects of a type through a typed or dynamic client.
func SourceOf[L runtime.Object](objects interface {
	List(ctx context.Context, opts metav1.ListOptions) (L, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return twice(func() (runtime.Object, error) { return objects.List(ctx, opts) })
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return twice(func() (watch.Interface, error) { return objects.Watch(ctx, opts) })
		},
	}
}

// twice sends a request again if the server rejects its credentials, because client-go then gets new ones.
func twice[T any](send func() (T, error)) (T, error) {
	answer, err := send()
	if apierrors.IsUnauthorized(err) {
		return send()
	}
	return answer, err
}

// Handler receives objects of a type until one of its functions returns done or an error.
type Handler[T runtime.Object] struct {
	// Listed is called with all objects at the start, and again if changes might have been missed.
	Listed func(found []T) (done bool, err error)
	// Changed is called for each change. gone means that obj was deleted.
	Changed func(obj T, gone bool) (done bool, err error)
}

// Objects passes the selected objects and then every change to a handler, until the handler is done, the context
// ends, or a request fails. It resumes interrupted watches, and retries any list except the first after a transient
// error. Every list is a consistent read, without a resourceVersion.
func Objects[T runtime.Object](ctx context.Context, from *cache.ListWatch, selected metav1.ListOptions, connection *Connection, h Handler[T]) error {
	for first := true; ; first = false {
		found, resourceVersion, err := ListFrom[T](ctx, from, selected)
		if !first || err == nil {
			connection.note(err)
		}
		began := time.Now()
		switch {
		case err == nil:
			if done, err := h.Listed(found); done || err != nil {
				return err
			}
			if err := followChanges(ctx, from, selected, resourceVersion, connection, h.Changed); !expired(err) {
				return err
			}
		case first || !Transient(err):
			return err
		}
		// The server is down, or might be broken, and reject every watch as expired.
		if err := Sleep(ctx, Pause-time.Since(began)); err != nil {
			return err
		}
	}
}

// One follows a single object by name. see receives nil if the object does not exist.
func One(ctx context.Context, objects dynamic.ResourceInterface, name string, connection *Connection, see func(*unstructured.Unstructured) (done bool, err error)) error {
	return Objects(ctx, SourceOf(objects), ByName(name), connection, Handler[*unstructured.Unstructured]{
		Listed: func(found []*unstructured.Unstructured) (bool, error) {
			if len(found) == 0 {
				return see(nil)
			}
			return see(found[0])
		},
		Changed: func(obj *unstructured.Unstructured, gone bool) (bool, error) {
			if gone {
				return see(nil)
			}
			return see(obj)
		},
	})
}

// ByName returns list options that select an object by name.
func ByName(name string) metav1.ListOptions {
	return metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()}
}

// Pause is the time between two requests to a failing server.
const Pause = time.Second

// Transient reports whether an error means that the server is unreachable, down, or overloaded for a while.
func Transient(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code >= http.StatusInternalServerError || apierrors.IsTooManyRequests(err)
	}
	return errors.As(err, new(*url.Error)) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// Sleep waits for a duration. If the context ends first, Sleep returns its cause.
func Sleep(ctx context.Context, while time.Duration) error {
	select {
	case <-time.After(while):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// List lists the selected objects page by page, because there may be many.
func List(ctx context.Context, objects dynamic.ResourceInterface, selected metav1.ListOptions) ([]*unstructured.Unstructured, error) {
	found, _, err := ListFrom[*unstructured.Unstructured](ctx, SourceOf(objects), selected)
	return found, err
}

// ListFrom is like List, but lists typed objects, too, and also returns the resourceVersion of the list.
func ListFrom[T runtime.Object](ctx context.Context, from *cache.ListWatch, selected metav1.ListOptions) ([]T, string, error) {
	all, _, err := pager.New(from.ListWithContext).List(ctx, selected)
	if err != nil {
		return nil, "", err
	}
	accessor, _ := meta.ListAccessor(all) // cannot fail for a list from the pager
	items := make([]T, 0, meta.LenList(all))
	err = meta.EachListItem(all, func(obj runtime.Object) error {
		item, is := obj.(T)
		if !is {
			return fmt.Errorf("read a list: it has a %T", obj)
		}
		items = append(items, item)
		return nil
	})
	return items, accessor.GetResourceVersion(), err
}

func expired(err error) bool { return apierrors.IsGone(err) || apierrors.IsResourceExpired(err) }

func followChanges[T runtime.Object](ctx context.Context, from *cache.ListWatch, selected metav1.ListOptions, resourceVersion string, connection *Connection,
	changed func(obj T, gone bool) (done bool, err error)) error {
	// Discard the logs of the watcher, because the caller reports its errors.
	ctx, stop := context.WithCancelCause(klog.NewContext(ctx, klog.Logger{}))
	watched := false
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, resourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			opts.FieldSelector, opts.LabelSelector = selected.FieldSelector, selected.LabelSelector
			if watched {
				connection.set(true) // the previous watch has ended
			}
			w, err := from.WatchWithContext(ctx, opts)
			if watched = err == nil; watched {
				connection.watched(w)
				return w, nil
			}
			connection.note(err)
			if permanent(err) {
				// Otherwise, the watcher would retry forever.
				stop(err)
				err = io.EOF
			}
			return nil, err
		},
	})
	if err != nil {
		stop(nil)
		return fmt.Errorf("watch: %w", err)
	}
	defer func() { stop(nil); <-watcher.Done() }()
	for event := range watcher.ResultChan() {
		if event.Type == watch.Error {
			err := apierrors.FromObject(event.Object)
			if _, is := errors.AsType[*apierrors.UnexpectedObjectError](err); is {
				err = errors.New("the server ended the watch with an object that is not an error")
			}
			return err
		}
		if obj, is := event.Object.(T); is {
			if done, err := changed(obj, event.Type == watch.Deleted); done || err != nil {
				return err
			}
		}
	}
	return cmp.Or(context.Cause(ctx), errors.New("the server ended the watch"))
}

// permanent reports whether a watch would fail again with the same error.
func permanent(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) || expired(err)
}
