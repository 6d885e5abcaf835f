package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// WaitForObject asks done of an object, nil when it is not there, now and after
// every change, until it says yes or the timeout has passed (ErrTimeout).
func WaitForObject(ctx context.Context, objects dynamic.ResourceInterface, name string, timeout time.Duration, done func(*unstructured.Unstructured) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, outcome.ErrTimeout)
	defer cancel()
	err := Follow(ctx, objects, ByName(name), "", Handler{
		Listed: func(found []unstructured.Unstructured) (bool, error) {
			if len(found) == 0 {
				return done(nil)
			}
			return done(&found[0])
		},
		Changed: func(obj *unstructured.Unstructured, gone bool) (bool, error) {
			if gone {
				return done(nil)
			}
			return done(obj)
		},
	})
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// WaitUntilGone waits until this very object, not one of its name, is gone.
func WaitUntilGone(ctx context.Context, objects dynamic.ResourceInterface, gone *unstructured.Unstructured, timeout time.Duration) error {
	seen := "it still exists"
	err := WaitForObject(ctx, objects, gone.GetName(), timeout, func(obj *unstructured.Unstructured) (bool, error) {
		if obj == nil || obj.GetUID() != gone.GetUID() {
			return true, nil
		}
		if held := obj.GetFinalizers(); len(held) > 0 {
			seen = "it still has the finalizers " + strings.Join(held, ", ")
		}
		return false, nil
	})
	if err != nil {
		kind := gone.GroupVersionKind()
		return fmt.Errorf("wait for %s.%s/%s to be gone: %w", strings.ToLower(kind.Kind), kind.Group, gone.GetName(), withReason(err, seen))
	}
	return nil
}

// Handler is told what there is, and says when it has seen enough.
type Handler struct {
	// Listed is told of all the objects that there are: at first, and again
	// after a time in which changes may have been missed.
	Listed func([]unstructured.Unstructured) (done bool, err error)
	// Changed is told of each change since.
	Changed func(obj *unstructured.Unstructured, gone bool) (done bool, err error)
	// Connection, if there is one, notes whether the server can be reached.
	Connection *Connection
}

// Follow tells a handler of the objects that are selected until it has seen
// enough, the context ends, or the server refuses. Lost connections are taken
// up again. What it begins with is at least as new as a resourceVersion, if one
// is given.
func Follow(ctx context.Context, objects dynamic.ResourceInterface, selected metav1.ListOptions, since string, h Handler) error {
	return follow(ctx, dynamicSource(objects), selected, since, h.Connection, handler[*unstructured.Unstructured]{
		listed: func(found []*unstructured.Unstructured, _ string) (bool, error) {
			items := make([]unstructured.Unstructured, len(found))
			for i, obj := range found {
				items[i] = *obj
			}
			return h.Listed(items)
		},
		changed: h.Changed,
	})
}

// source lists and watches objects of a type.
type source struct {
	list  func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
}

func dynamicSource(objects dynamic.ResourceInterface) source {
	return source{
		list: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return objects.List(ctx, opts)
		},
		watch: objects.Watch,
	}
}

// handler is a Handler for objects of a type.
type handler[T runtime.Object] struct {
	listed  func(found []T, resourceVersion string) (done bool, err error)
	changed func(obj T, gone bool) (done bool, err error)
}

// follow is Follow for any type.
func follow[T runtime.Object](ctx context.Context, from source, selected metav1.ListOptions, since string, connection *Connection, h handler[T]) error {
	for first := true; ; first = false {
		list, err := listSince(ctx, from, selected, since)
		for !first && transient(err) {
			connection.note(err)
			if err := sleep(ctx, pause); err != nil {
				return err
			}
			list, err = listAll(ctx, from, selected)
		}
		if err != nil {
			return err
		}
		connection.note(nil)
		found, resourceVersion, err := itemsOf[T](list)
		if err != nil {
			return err
		}
		if done, err := h.listed(found, resourceVersion); done || err != nil {
			return err
		}
		err = followChanges(ctx, from, selected, resourceVersion, connection, h.changed)
		if !expired(err) {
			return err
		}
	}
}

// itemsOf are the objects of a list, and its resourceVersion.
func itemsOf[T runtime.Object](list runtime.Object) ([]T, string, error) {
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, "", fmt.Errorf("read a list: %w", err)
	}
	items := make([]T, 0, meta.LenList(list))
	err = meta.EachListItem(list, func(obj runtime.Object) error {
		item, is := obj.(T)
		if !is {
			return fmt.Errorf("read a list: it has a %T", obj)
		}
		items = append(items, item)
		return nil
	})
	return items, accessor.GetResourceVersion(), err
}

// pause is how long a server that did not answer as it should is left alone.
const pause = time.Second

// transient says of an error that it may well be over soon: the server is away,
// or has too much to do.
func transient(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code >= http.StatusInternalServerError || apierrors.IsTooManyRequests(err)
	}
	var failed *url.Error
	return errors.As(err, &failed) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// sleep waits, and returns why the context ended if it did.
func sleep(ctx context.Context, while time.Duration) error {
	select {
	case <-time.After(while):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// listAll lists what is selected, page by page.
func listAll(ctx context.Context, from source, selected metav1.ListOptions) (runtime.Object, error) {
	list, _, err := pager.New(from.list).List(ctx, selected)
	return list, err
}

// listSince lists what is at least as new as a resourceVersion, which spares
// the server a read from its storage. A server that has not come so far yet, or
// does not know the version any more, is asked for what there is now.
func listSince(ctx context.Context, from source, selected metav1.ListOptions, since string) (runtime.Object, error) {
	if since != "" {
		notOlder := selected
		notOlder.ResourceVersion, notOlder.ResourceVersionMatch = since, metav1.ResourceVersionMatchNotOlderThan
		list, err := from.list(ctx, notOlder)
		if err == nil || !apierrors.IsTimeout(err) && !expired(err) {
			return list, err
		}
	}
	return listAll(ctx, from, selected)
}

// expired says that a server does not have a version, or a watch of it, any more.
func expired(err error) bool { return apierrors.IsGone(err) || apierrors.IsResourceExpired(err) }

// followChanges tells of the changes since a resourceVersion, as follow does.
func followChanges[T runtime.Object](ctx context.Context, from source, selected metav1.ListOptions, resourceVersion string, connection *Connection,
	changed func(obj T, gone bool) (done bool, err error)) error {
	// What the watcher would log is told by what the wait comes to.
	ctx, stop := context.WithCancelCause(klog.NewContext(ctx, klog.Logger{}))
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, resourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			opts.FieldSelector, opts.LabelSelector = selected.FieldSelector, selected.LabelSelector
			w, err := from.watch(ctx, opts)
			if err == nil {
				return connection.watched(ctx, w), nil
			}
			connection.note(err)
			if permanent(err) {
				// The watcher would log it and try for ever.
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
			return apierrors.FromObject(event.Object)
		}
		obj, ok := event.Object.(T)
		if !ok {
			continue
		}
		if done, err := changed(obj, event.Type == watch.Deleted); done || err != nil {
			return err
		}
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return errors.New("the server ended the watch")
}

// permanent reports whether a watch will not come about by trying again.
func permanent(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) || expired(err)
}

// ByName selects the one object of a name.
func ByName(name string) metav1.ListOptions {
	return metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()}
}

// AtLeast reports whether an object is as new as a resourceVersion: a list may
// come from a server's cache that lags behind the write it follows.
func AtLeast(obj *unstructured.Unstructured, resourceVersion string) bool {
	c, err := resourceversion.CompareResourceVersion(obj.GetResourceVersion(), resourceVersion)
	return err != nil || c >= 0 // versions that cannot be compared prove nothing
}

// withReason adds to a time-out what was last seen.
func withReason(err error, reason string) error {
	if errors.Is(err, outcome.ErrTimeout) {
		return fmt.Errorf("%w; last seen: %s", err, reason)
	}
	return err
}
