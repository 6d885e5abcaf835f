package observe

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// pollInterval is how often objects are listed that one may list and not watch.
const pollInterval = 5 * time.Second

// feed keeps the objects that are selected in memory, by one list and one watch:
// nothing is listed twice but after a watch that expired.
type feed[T interface {
	runtime.Object
	metav1.Object
}] struct {
	// trim drops what nobody looks at, and notify is told of every change.
	trim   func(T)
	notify func()
	// known is closed when the objects are known, or why they cannot be.
	known chan struct{}

	mu  sync.Mutex
	all map[types.UID]T
	err error
	// polled says that the objects may be listed and not watched.
	polled bool
}

// newFeed makes a feed that is empty until it runs.
func newFeed[T interface {
	runtime.Object
	metav1.Object
}](trim func(T), notify func()) *feed[T] {
	return &feed[T]{trim: trim, notify: notify, known: make(chan struct{}), all: map[types.UID]T{}}
}

// run follows what is selected of a source until the context ends, or the server
// refuses.
func (f *feed[T]) run(ctx context.Context, from source, selected metav1.ListOptions, connection *Connection) {
	known := sync.OnceFunc(func() { close(f.known) })
	listed := false
	for {
		err := follow(ctx, from, selected, "", connection, handler[T]{
			listed: func(found []T, _ string) (bool, error) {
				listed = true
				f.replace(found)
				known()
				return false, nil
			},
			changed: f.change,
		})
		if apierrors.IsForbidden(err) && listed {
			err = f.poll(ctx, from, selected)
		}
		f.mu.Lock()
		f.err = err
		f.mu.Unlock()
		known()
		if !transient(err) || sleep(ctx, pause) != nil {
			f.notify()
			return
		}
	}
}

// refuse says that nothing can be followed, and why.
func (f *feed[T]) refuse(err error) {
	f.err = err
	close(f.known)
}

// poll lists what may not be watched, again and again.
func (f *feed[T]) poll(ctx context.Context, from source, selected metav1.ListOptions) error {
	f.mu.Lock()
	f.polled = true
	f.mu.Unlock()
	for {
		if err := sleep(ctx, pollInterval); err != nil {
			return err
		}
		list, err := listAll(ctx, from, selected)
		if transient(err) {
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

func (f *feed[T]) replace(found []T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err, f.all = nil, make(map[types.UID]T, len(found))
	for _, obj := range found {
		f.trim(obj)
		f.all[obj.GetUID()] = obj
	}
	f.notify()
}

func (f *feed[T]) change(obj T, gone bool) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if gone {
		delete(f.all, obj.GetUID())
	} else {
		f.trim(obj)
		f.all[obj.GetUID()] = obj
	}
	f.notify()
	return false, nil
}

// each shows the objects as they are now, once they are known. The error is why
// they cannot be.
func (f *feed[T]) each(ctx context.Context, do func(T)) (polled bool, err error) {
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
