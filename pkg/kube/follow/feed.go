package follow

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// pollInterval is the time between two lists of objects that the user may not watch.
const pollInterval = 5 * time.Second

// Object is an object of any type.
type Object interface {
	runtime.Object
	metav1.Object
}

// Feed keeps a value for each of the selected objects, by one list and one watch.
type Feed[T Object, V any] struct {
	// keep converts an object to a value. It may drop fields of the object.
	keep func(T) V
	// compare orders the values. It is zero only for two values of the same object.
	compare func(a, b V) int
	// refers, if set, returns the UID and the kind of the object to which a value refers: its
	// controller, or what an event is about. Both are empty if there is none.
	refers func(V) (types.UID, schema.GroupVersionKind)
	// known is closed once, by learned, when the feed has synced or failed.
	known   chan struct{}
	learned sync.Once

	mu          sync.Mutex
	subscribers map[any]Subscriber
	// all holds the values, in order.
	all []V
	// index has the values by their references; nil until it is needed after a change.
	index *Index[V]
	err   error
	// polled means that the user can list the objects but not watch them.
	polled bool
}

// Index has the values of a feed by the objects to which they refer.
type Index[V any] struct {
	// Of has the values in order.
	Of map[types.UID][]V
	// Kinds are the kinds of the objects.
	Kinds []schema.GroupVersionKind
}

// Subscriber is notified of changes. If Matters is set, only changes for which it returns
// true for one of the UIDs that the object refers to count.
type Subscriber struct {
	Matters func(...types.UID) bool
	Notify  func()
}

// New returns a feed, which is empty until it runs.
func New[T Object, V any](keep func(T) V, compare func(a, b V) int) *Feed[T, V] {
	return &Feed[T, V]{keep: keep, compare: compare, known: make(chan struct{}), subscribers: map[any]Subscriber{}, all: []V{}}
}

// By makes the feed index its values by the objects to which they refer. It is called before the
// feed runs.
func (f *Feed[T, V]) By(refers func(V) (types.UID, schema.GroupVersionKind)) {
	f.refers = refers
}

// Whole keeps an object unchanged.
func Whole[T Object](obj T) T { return obj }

// Compare orders objects of a namespace by their names.
func Compare[T Object](a, b T) int {
	return cmp.Or(strings.Compare(a.GetName(), b.GetName()), strings.Compare(string(a.GetUID()), string(b.GetUID())))
}

// Subscribe adds a subscriber with a key, or replaces the one with this key.
func (f *Feed[T, V]) Subscribe(key any, s Subscriber) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subscribers[key] = s
}

// notifyAll notifies all subscribers after the feed has synced.
func (f *Feed[T, V]) notifyAll() {
	f.learned.Do(func() { close(f.known) })
	for _, s := range f.subscribers {
		s.Notify()
	}
}

// uids returns the UIDs of an object, of its controller, and, if the object is an event, of
// the object that the event is about.
func uids(obj metav1.Object) []types.UID {
	all := []types.UID{obj.GetUID()}
	if controller := metav1.GetControllerOfNoCopy(obj); controller != nil {
		all = append(all, controller.UID)
	}
	if event, is := obj.(*corev1.Event); is {
		all = append(all, event.InvolvedObject.UID)
	}
	return all
}

// List lists the selected objects once.
func (f *Feed[T, V]) List(ctx context.Context, from Source, selected metav1.ListOptions) error {
	found, err := list[T](ctx, from, selected)
	if err == nil {
		f.replace(found)
	}
	return err
}

// Run follows the selected objects until the context ends or the server refuses.
func (f *Feed[T, V]) Run(ctx context.Context, from Source, selected metav1.ListOptions, connection *Connection) {
	listed := false
	for {
		err := Objects(ctx, from, selected, connection, Handler[T]{
			Listed: func(found []T) (bool, error) {
				listed = true
				f.replace(found)
				return false, nil
			},
			Changed: f.Change,
		})
		if apierrors.IsForbidden(err) && listed {
			err = f.poll(ctx, from, selected)
		}
		f.Refuse(err)
		if !Transient(err) || Sleep(ctx, Pause) != nil {
			return
		}
	}
}

// Refuse stores an error that readers get instead of the objects.
func (f *Feed[T, V]) Refuse(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
	f.notifyAll()
}

func (f *Feed[T, V]) poll(ctx context.Context, from Source, selected metav1.ListOptions) error {
	f.mu.Lock()
	f.polled = true
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

func (f *Feed[T, V]) replace(found []T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err, f.all, f.index = nil, make([]V, 0, len(found)), nil
	for _, obj := range found {
		f.all = append(f.all, f.keep(obj))
	}
	slices.SortFunc(f.all, f.compare)
	f.notifyAll()
}

// Change applies a change, and notifies the subscribers for which it matters.
func (f *Feed[T, V]) Change(obj T, gone bool) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.index = nil
	value := f.keep(obj)
	at, found := slices.BinarySearchFunc(f.all, value, f.compare)
	switch {
	case gone && found:
		f.all = slices.Delete(f.all, at, at+1)
	case gone:
	case found:
		f.all[at] = value
	default:
		f.all = slices.Insert(f.all, at, value)
	}
	about := uids(obj)
	for _, s := range f.subscribers {
		if s.Matters == nil || s.Matters(about...) {
			s.Notify()
		}
	}
	return false, nil
}

// Known is closed when the feed has synced or failed.
func (f *Feed[T, V]) Known() <-chan struct{} { return f.known }

// All returns the values in order, once the feed has synced, or the error with which it
// failed.
func (f *Feed[T, V]) All(ctx context.Context) (all []V, polled bool, err error) {
	if err := f.await(ctx); err != nil {
		return nil, false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.all), f.polled, f.err
}

// Index is like All, but returns the index of a feed that has one. It is made once after each
// change, however many targets share the feed, and must not be changed.
func (f *Feed[T, V]) Index(ctx context.Context) (index Index[V], polled bool, err error) {
	if err := f.await(ctx); err != nil {
		return Index[V]{}, false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.index == nil {
		f.index = &Index[V]{Of: map[types.UID][]V{}}
		known := sets.Set[schema.GroupVersionKind]{}
		for _, value := range f.all {
			uid, kind := f.refers(value)
			f.index.Of[uid] = append(f.index.Of[uid], value)
			if uid != "" && !known.Has(kind) {
				known.Insert(kind)
				f.index.Kinds = append(f.index.Kinds, kind)
			}
		}
	}
	return *f.index, f.polled, f.err
}

// await waits until the feed has synced or failed.
func (f *Feed[T, V]) await(ctx context.Context) error {
	select {
	case <-f.known:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
