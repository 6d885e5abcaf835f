// Package follow lists objects once and then follows their changes by a watch, which it takes
// up again where it breaks.
package follow

import (
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

// Dynamic tells a handler of the objects that are selected until it has seen
// enough, the context ends, or the server refuses. Lost connections are taken
// up again. What it begins with is at least as new as a resourceVersion, if one
// is given.
func Dynamic(ctx context.Context, objects dynamic.ResourceInterface, selected metav1.ListOptions, since string, h Handler) error {
	return Objects(ctx, SourceOf(objects), selected, since, h.Connection, TypedHandler[*unstructured.Unstructured]{
		Listed: func(found []*unstructured.Unstructured, _ string) (bool, error) {
			items := make([]unstructured.Unstructured, len(found))
			for i, obj := range found {
				items[i] = *obj
			}
			return h.Listed(items)
		},
		Changed: h.Changed,
	})
}

// One tells see of the object of a name, and of nil while there is none, as Dynamic tells a
// handler.
func One(ctx context.Context, objects dynamic.ResourceInterface, name, since string, connection *Connection, see func(*unstructured.Unstructured) (done bool, err error)) error {
	return Objects(ctx, SourceOf(objects), ByName(name), since, connection, TypedHandler[*unstructured.Unstructured]{
		Listed: func(found []*unstructured.Unstructured, _ string) (bool, error) {
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

// Source lists and watches objects of a type.
type Source struct {
	List  func(context.Context, metav1.ListOptions) (runtime.Object, error)
	Watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// SourceOf is the source of the objects of a client, typed or dynamic.
func SourceOf[L runtime.Object](objects interface {
	List(ctx context.Context, opts metav1.ListOptions) (L, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}) Source {
	return Source{
		List: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return objects.List(ctx, opts)
		},
		Watch: objects.Watch,
	}
}

// TypedHandler is a Handler for objects of a type. Listed is told the resourceVersion of
// the list, too.
type TypedHandler[T runtime.Object] struct {
	Listed  func(found []T, resourceVersion string) (done bool, err error)
	Changed func(obj T, gone bool) (done bool, err error)
}

// Objects is Dynamic for any type.
func Objects[T runtime.Object](ctx context.Context, from Source, selected metav1.ListOptions, since string, connection *Connection, h TypedHandler[T]) error {
	for first := true; ; first = false {
		list, err := listSince(ctx, from, selected, since)
		for !first && Transient(err) {
			connection.note(err)
			if err := Sleep(ctx, Pause); err != nil {
				return err
			}
			list, err = listAll(ctx, from, selected)
		}
		if !first || err == nil {
			connection.note(err)
		}
		if err != nil {
			return err
		}
		found, resourceVersion, err := itemsOf[T](list)
		if err != nil {
			return err
		}
		if done, err := h.Listed(found, resourceVersion); done || err != nil {
			return err
		}
		err = followChanges(ctx, from, selected, resourceVersion, connection, h.Changed)
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

// Pause is how long a server that did not answer as it should is left alone.
const Pause = time.Second

// Transient reports whether it may well be over soon: the server is away,
// or has too much to do.
func Transient(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code >= http.StatusInternalServerError || apierrors.IsTooManyRequests(err)
	}
	var failed *url.Error
	return errors.As(err, &failed) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// Sleep waits, and returns why the context ended if it did.
func Sleep(ctx context.Context, while time.Duration) error {
	select {
	case <-time.After(while):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// listAll lists what is selected, page by page.
func listAll(ctx context.Context, from Source, selected metav1.ListOptions) (runtime.Object, error) {
	list, _, err := pager.New(from.List).List(ctx, selected)
	return list, err
}

// listSince lists what is at least as new as a resourceVersion, which spares
// the server a read from its storage. A server that has not come so far yet, or
// does not know the version any more, is asked for what there is now.
func listSince(ctx context.Context, from Source, selected metav1.ListOptions, since string) (runtime.Object, error) {
	if since != "" {
		notOlder := selected
		notOlder.ResourceVersion, notOlder.ResourceVersionMatch = since, metav1.ResourceVersionMatchNotOlderThan
		list, err := from.List(ctx, notOlder)
		if err == nil || !apierrors.IsTimeout(err) && !expired(err) {
			return list, err
		}
	}
	return listAll(ctx, from, selected)
}

// expired says that a server does not have a version, or a watch of it, any more.
func expired(err error) bool { return apierrors.IsGone(err) || apierrors.IsResourceExpired(err) }

// followChanges tells of the changes since a resourceVersion, as Objects does.
func followChanges[T runtime.Object](ctx context.Context, from Source, selected metav1.ListOptions, resourceVersion string, connection *Connection,
	changed func(obj T, gone bool) (done bool, err error)) error {
	// What the watcher would log is told by what the wait comes to.
	ctx, stop := context.WithCancelCause(klog.NewContext(ctx, klog.Logger{}))
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, resourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			opts.FieldSelector, opts.LabelSelector = selected.FieldSelector, selected.LabelSelector
			w, err := from.Watch(ctx, opts)
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
