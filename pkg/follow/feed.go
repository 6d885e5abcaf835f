package follow

import (
	"context"
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

// Feed keeps the objects that are selected in memory, by one list and one watch:
// nothing is listed twice but after a watch that expired.
type Feed[T interface {
	runtime.Object
	metav1.Object
}] struct {
	// trim drops what nobody looks at.
	trim func(T)
	// known is closed when the objects are known, or why they cannot be; toldKnown does so.
	known     chan struct{}
	toldKnown sync.Once

	mu          sync.Mutex
	subscribers []Subscriber
	all         map[types.UID]T
	err         error
	// polled says that the objects may be listed and not watched.
	polled bool
}

// Subscriber is told of changes: of those of what matters to it, by the UIDs that
// an object has to do with.
type Subscriber struct {
	Matters func(...types.UID) bool
	Notify  func()
}

// New makes a feed that is empty until it runs.
func New[T interface {
	runtime.Object
	metav1.Object
}](trim func(T)) *Feed[T] {
	return &Feed[T]{trim: trim, known: make(chan struct{}), all: map[types.UID]T{}}
}

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
	f.err, f.all = nil, make(map[types.UID]T, len(found))
	for _, obj := range found {
		f.trim(obj)
		f.all[obj.GetUID()] = obj
	}
	f.notifyAll()
}

// Change takes in one change, and tells those to whom it matters.
func (f *Feed[T]) Change(obj T, gone bool) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if gone {
		delete(f.all, obj.GetUID())
	} else {
		f.trim(obj)
		f.all[obj.GetUID()] = obj
	}
	about := uids(obj)
	for _, s := range f.subscribers {
		if s.Matters(about...) {
			s.Notify()
		}
	}
	return false, nil
}

// Known is closed when the objects are known, or why they cannot be.
func (f *Feed[T]) Known() <-chan struct{} { return f.known }

// Each shows the objects as they are now, once they are known. The error is why
// they cannot be.
func (f *Feed[T]) Each(ctx context.Context, do func(T)) (polled bool, err error) {
	select {
	case <-f.known:
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, obj := range f.all {
		do(obj)
	}
	return f.polled, f.err
}
