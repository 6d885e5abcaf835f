package follow

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// pollInterval is how often objects are listed that one may list and not watch.
const pollInterval = 5 * time.Second

// Object is an object of any type.
type Object interface {
	runtime.Object
	metav1.Object
}

// Feed keeps the objects that are selected in memory, by one list and one watch:
// nothing is listed twice but after a watch that expired.
type Feed[T Object] struct {
	// trim drops what nobody looks at.
	trim func(T)
	// compare puts the objects in order. It tells any two of them apart.
	compare func(a, b T) int
	// known is closed when the objects are known, or why they cannot be; toldKnown does so.
	known     chan struct{}
	toldKnown sync.Once

	mu          sync.Mutex
	subscribers []Subscriber
	// all are the objects, in order. If they are given, somebody has them who does not
	// expect that they change.
	all   []T
	given bool
	err   error
	// polled says that the objects may be listed and not watched.
	polled bool
}

// Subscriber is told of changes: of those of what matters to it, by the UIDs that
// an object has to do with. Without Matters, all do.
type Subscriber struct {
	Matters func(...types.UID) bool
	Notify  func()
}

// New makes a feed that is empty until it runs.
func New[T Object](trim func(T)) *Feed[T] {
	byUID := func(a, b T) int { return strings.Compare(string(a.GetUID()), string(b.GetUID())) }
	return &Feed[T]{trim: trim, compare: byUID, known: make(chan struct{}), all: []T{}}
}

// OrderBy puts the objects in an order before the feed runs. That of two objects must be
// the same whatever becomes of them, and compare tells any two apart.
func (f *Feed[T]) OrderBy(compare func(a, b T) int) { f.compare = compare }

// Subscribe adds who is told of changes.
func (f *Feed[T]) Subscribe(s Subscriber) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subscribers = append(f.subscribers, s)
}

// notifyAll tells everybody that something changed, and that the objects are known, or why
// they cannot be: who is told finds that they are.
func (f *Feed[T]) notifyAll() {
	f.toldKnown.Do(func() { close(f.known) })
	for _, s := range f.subscribers {
		s.Notify()
	}
}

// uids are those that an object has to do with: its own, that of its controller, and
// that of what an event is about.
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

// Run follows what is selected of a Source until the context ends, or the server
// refuses.
func (f *Feed[T]) Run(ctx context.Context, from Source, selected metav1.ListOptions, connection *Connection) {
	listed := false
	for {
		err := Objects(ctx, from, selected, "", connection, TypedHandler[T]{
			Listed: func(found []T, _ string) (bool, error) {
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

// Refuse notes why the objects cannot be known, or not any more.
func (f *Feed[T]) Refuse(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
	f.notifyAll()
}

// poll lists what may not be watched, again and again.
func (f *Feed[T]) poll(ctx context.Context, from Source, selected metav1.ListOptions) error {
	f.mu.Lock()
	f.polled = true
	f.mu.Unlock()
	for {
		if err := Sleep(ctx, pollInterval); err != nil {
			return err
		}
		list, err := listAll(ctx, from, selected)
		if Transient(err) {
			continue
		}
		if err != nil {
			return err
		}
		found, _, err := itemsOf[T](list)
		if err != nil {
			return err
		}
		f.replace(found)
	}
}

func (f *Feed[T]) replace(found []T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, obj := range found {
		f.trim(obj)
	}
	f.err, f.given, f.all = nil, false, slices.SortedFunc(slices.Values(found), f.compare)
	f.notifyAll()
}

// Change takes in one change, and tells those to whom it matters.
func (f *Feed[T]) Change(obj T, gone bool) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(obj, gone)
	about := uids(obj)
	for _, s := range f.subscribers {
		if s.Matters == nil || s.Matters(about...) {
			s.Notify()
		}
	}
	return false, nil
}

// put changes one of the objects.
func (f *Feed[T]) put(obj T, gone bool) {
	at, found := slices.BinarySearchFunc(f.all, obj, f.compare)
	if gone && !found {
		return
	}
	if f.given {
		f.all, f.given = slices.Clone(f.all), false
	}
	if gone {
		f.all = slices.Delete(f.all, at, at+1)
		return
	}
	f.trim(obj)
	if found {
		f.all[at] = obj
	} else {
		f.all = slices.Insert(f.all, at, obj)
	}
}

// Known is closed when the objects are known, or why they cannot be.
func (f *Feed[T]) Known() <-chan struct{} { return f.known }

// Each shows the objects as they are now, once they are known. The error is why
// they cannot be.
func (f *Feed[T]) Each(ctx context.Context, do func(T)) (polled bool, err error) {
	all, polled, err := f.All(ctx)
	for _, obj := range all {
		do(obj)
	}
	return polled, err
}

// All are the objects as they are now, in order, once they are known. They do not change.
// The error is why they cannot be known.
func (f *Feed[T]) All(ctx context.Context) (all []T, polled bool, err error) {
	select {
	case <-f.known:
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.given = true
	return f.all, f.polled, f.err
}
