package follow

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
)

// pollInterval is the time between two lists if the user is not allowed to watch the objects.
const pollInterval = 5 * time.Second

// Object is a typed or unstructured object.
type Object interface {
	runtime.Object
	metav1.Object
}

// Reference is the object to which a value refers, if any: its controller or, for an event, the involved object.
type Reference struct {
	UID  types.UID
	Kind schema.GroupVersionKind
}

// Feed contains a value for each selected object. A list and a watch keep the values current.
type Feed[T Object, V any] struct {
	// keep converts an object to a value and a reference. It is allowed to remove fields of the object.
	keep func(T) (V, Reference)
	// known is closed when the feed has synced or failed. learned ensures that this happens only once.
	known   chan struct{}
	learned sync.Once

	mu          sync.Mutex
	subscribers map[any]Subscriber
	entries     map[types.UID]entry[V] // by the UID of the object
	index       *Index[V]              // cached by the method Index; nil after each change
	err         error
	listed      bool // there was a list
	polled      bool // the user can list the objects but not watch them
}

type entry[V any] struct {
	value V
	about Reference
}

// Index groups the values of a feed by the objects to which they refer.
type Index[V any] struct {
	// Of maps the UID of an object, or "" for none, to the values that refer to it, in any order.
	Of map[types.UID][]V
	// Kinds contains the kinds of the objects to which values refer.
	Kinds sets.Set[schema.GroupVersionKind]
	// Polled means that the user can list the objects but not watch them.
	Polled bool
}

// Subscriber is called after each change with the UIDs of the changed object and of the object to which it
// refers, or "" if there is none. After a list or an error, which can affect all objects, it gets no UIDs.
type Subscriber func(about ...types.UID)

// New returns an empty feed. List or Run adds the values.
func New[T Object, V any](keep func(T) (V, Reference)) *Feed[T, V] {
	return &Feed[T, V]{
		keep: keep, known: make(chan struct{}), subscribers: map[any]Subscriber{}, entries: map[types.UID]entry[V]{},
	}
}

// Subscribe adds a subscriber, or replaces the subscriber with the same key.
func (f *Feed[T, V]) Subscribe(key any, notify Subscriber) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subscribers[key] = notify
}

// Unsubscribe removes the subscriber with the key.
func (f *Feed[T, V]) Unsubscribe(key any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.subscribers, key)
}

// notifyAll closes known and notifies all subscribers. The caller must hold mu.
func (f *Feed[T, V]) notifyAll(about ...types.UID) {
	f.learned.Do(func() { close(f.known) })
	for _, notify := range f.subscribers {
		notify(about...)
	}
}

// List lists the selected objects once, and replaces all values.
func (f *Feed[T, V]) List(ctx context.Context, from *cache.ListWatch, selected metav1.ListOptions) error {
	found, _, err := ListFrom[T](ctx, from, selected)
	if err == nil {
		_, err = f.replace(found)
	}
	return err
}

// Run follows the selected objects until the context ends or an error occurs that is not transient.
// If the user can list the objects but not watch them, it polls.
func (f *Feed[T, V]) Run(ctx context.Context, from *cache.ListWatch, selected metav1.ListOptions, connection *Connection) {
	for {
		err := Objects(ctx, from, selected, connection, Handler[T]{Listed: f.replace, Changed: f.Change})
		if apierrors.IsForbidden(err) && f.listed {
			err = f.poll(ctx, from, selected)
		}
		f.Refuse(err)
		if !Transient(err) || Sleep(ctx, Pause) != nil {
			return
		}
	}
}

// Refuse stores the error that Index returns, and notifies all subscribers.
func (f *Feed[T, V]) Refuse(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
	f.notifyAll()
}

func (f *Feed[T, V]) poll(ctx context.Context, from *cache.ListWatch, selected metav1.ListOptions) error {
	f.mu.Lock()
	f.polled, f.index = true, nil
	f.mu.Unlock()
	for {
		if err := Sleep(ctx, pollInterval); err != nil {
			return err
		}
		if err := f.List(ctx, from, selected); err != nil && !Transient(err) {
			return err
		}
	}
}

// replace implements Handler.Listed. It replaces all values and notifies all subscribers.
func (f *Feed[T, V]) replace(found []T) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listed, f.err, f.index = true, nil, nil
	clear(f.entries)
	for _, obj := range found {
		value, about := f.keep(obj)
		f.entries[obj.GetUID()] = entry[V]{value, about}
	}
	f.notifyAll()
	return false, nil
}

// Change implements Handler.Changed. It applies a change and notifies all subscribers.
func (f *Feed[T, V]) Change(obj T, gone bool) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.index = nil
	uid := obj.GetUID()
	value, about := f.keep(obj)
	if gone {
		delete(f.entries, uid)
	} else {
		f.entries[uid] = entry[V]{value, about}
	}
	f.notifyAll(uid, about.UID)
	return false, nil
}

// Known reports whether the feed has synced or failed.
func (f *Feed[T, V]) Known() bool {
	select {
	case <-f.known:
		return true
	default:
		return false
	}
}

// Index waits until the feed has synced or failed. It returns the index of the values and the error
// from Refuse. All callers share the index until the next change, so they must not modify it.
func (f *Feed[T, V]) Index(ctx context.Context) (Index[V], error) {
	select {
	case <-f.known:
	case <-ctx.Done():
		return Index[V]{}, context.Cause(ctx)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.index == nil {
		f.index = &Index[V]{Of: map[types.UID][]V{}, Kinds: sets.New[schema.GroupVersionKind](), Polled: f.polled}
		for _, e := range f.entries {
			f.index.Of[e.about.UID] = append(f.index.Of[e.about.UID], e.value)
			if e.about.UID != "" {
				f.index.Kinds.Insert(e.about.Kind)
			}
		}
	}
	return *f.index, f.err
}
