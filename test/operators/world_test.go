package operators

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// world is a namespace as observed by the test's own watch. At each event, it evaluates a condition,
// and records in which periods the condition is met.
type world struct {
	mu sync.Mutex
	// object is the object under test, or nil if it does not exist. above maps the UID of
	// each object to the UID of its controller.
	object *unstructured.Unstructured
	pods   map[types.UID]*corev1.Pod
	above  map[types.UID]types.UID
	// Calling is() returns an error if the condition is not met. why is the result of the last call.
	// spans lists the periods in which the condition was met. The last period can be open.
	is    func() error
	why   error
	spans []span
	// changed is closed at each event, and replaced with a new one.
	changed chan struct{}
}

// between returns the types of objects between an object and its pods.
func between() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{
		{Group: "apps", Version: "v1", Resource: "replicasets"},
		{Group: "apps", Version: "v1", Resource: "statefulsets"},
		{Group: "apps", Version: "v1", Resource: "deployments"},
	}
}

// watchWorld watches one object of a namespace, and everything that can belong to it.
func watchWorld(t *testing.T, namespace string, resource schema.GroupVersionResource, more ...schema.GroupVersionResource) *world {
	t.Helper()
	w := &world{pods: map[types.UID]*corev1.Pod{}, above: map[types.UID]types.UID{}, changed: make(chan struct{})}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	for _, gvr := range append(append(between(), resource, pods), more...) {
		objects := plane.Dynamic.Resource(gvr).Namespace(namespace)
		saw := func(obj any, gone bool) {
			if tomb, is := obj.(cache.DeletedFinalStateUnknown); is {
				obj = tomb.Obj
			}
			if seen, is := obj.(*unstructured.Unstructured); is {
				w.saw(t, seen, gone, gvr == resource, gvr == pods)
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
				AddFunc:    func(obj any) { saw(obj, false) },
				UpdateFunc: func(_, obj any) { saw(obj, false) },
				DeleteFunc: func(obj any) { saw(obj, true) },
			},
		})
		running.Go(func() { informer.RunWithContext(ctx) })
		if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
			t.Fatal("the watch has not started")
		}
	}
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return w
}

func (w *world) saw(t *testing.T, obj *unstructured.Unstructured, gone, subject, isPod bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		w.above[obj.GetUID()] = ref.UID
	}
	switch {
	case subject && metav1.GetControllerOfNoCopy(obj) == nil:
		if w.object = obj; gone {
			w.object = nil
		}
	case isPod && gone:
		delete(w.pods, obj.GetUID())
	case isPod:
		pod := &corev1.Pod{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, pod); err != nil {
			t.Errorf("read a pod: %v", err)
			return
		}
		w.pods[pod.UID] = pod
	}
	w.judge()
	close(w.changed)
	w.changed = make(chan struct{})
}

// judge evaluates the condition. The world must be locked.
func (w *world) judge() {
	if w.is == nil {
		return
	}
	last := len(w.spans) - 1
	lasts := last >= 0 && w.spans[last].to.IsZero()
	switch w.why = w.is(); {
	case w.why == nil && !lasts:
		w.spans = append(w.spans, span{from: time.Now()})
	case w.why != nil && lasts:
		w.spans[last].to = time.Now()
	}
}

// span is a period in which the condition was met. If to is zero, the condition is still met.
type span struct{ from, to time.Time }

// want calls change, which can affect the condition. Then it replaces the condition, deletes the
// spans, and evaluates the condition.
func (w *world) want(change func(), is func() error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
	w.is, w.spans = is, nil
	w.judge()
}

// so returns the first span that overlaps the given period, and whether there is such a span.
func (w *world) so(from, to time.Time) (span, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.spans {
		if !s.from.After(to) && (s.to.IsZero() || !s.to.Before(from)) {
			return s, true
		}
	}
	return span{}, false
}

// behind is how far the test's own watch can lag behind the tested command. A pod takes several times
// as long to become ready.
const behind = 150 * time.Millisecond

// soon returns the first span that overlaps the period from at to at+behind, and whether there is
// such a span. If there is none yet, it waits for one until the duration behind has passed.
func (w *world) soon(at time.Time) (span, bool) {
	for late := time.After(behind); ; {
		w.mu.Lock()
		changed := w.changed
		w.mu.Unlock()
		if s, is := w.so(at, at.Add(behind)); is {
			return s, true
		}
		select {
		case <-changed:
		case <-late:
			return w.so(at, at.Add(behind))
		}
	}
}

// reason returns an error that explains why the condition is not met, or nil.
func (w *world) reason() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.why
}

// until waits until holds() returns nil. On a timeout, it fails the test.
func (w *world) until(t *testing.T, what string, holds func() error) {
	t.Helper()
	if err := w.within(harness.Timeout, holds); err != nil {
		t.Fatalf("%s: not within %s: %v", what, harness.Timeout, err)
	}
}

// within waits until holds() returns nil. After the duration d, within returns the last error. The
// world is locked during each call of holds.
func (w *world) within(d time.Duration, holds func() error) error {
	for late := time.After(d); ; {
		w.mu.Lock()
		err, changed := holds(), w.changed
		w.mu.Unlock()
		if err == nil {
			return nil
		}
		select {
		case <-changed:
		case <-late:
			return err
		}
	}
}

func (w *world) untilTrue(t *testing.T, what string) {
	t.Helper()
	w.until(t, what, func() error { return w.why })
}

// own returns the pods that the object owns directly or indirectly, except terminating and finished
// pods. The world must be locked.
func (w *world) own() []*corev1.Pod {
	var own []*corev1.Pod
	if w.object == nil {
		return nil
	}
	for _, pod := range w.pods {
		if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
			continue
		}
		for at := w.above[pod.UID]; at != ""; at = w.above[at] {
			if at == w.object.GetUID() {
				own = append(own, pod)
				break
			}
		}
	}
	return own
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// exactly returns an error unless there are exactly n pods, all of them are ready and have the image,
// and none of them is in before.
func exactly(own []*corev1.Pod, n int, image string, before map[types.UID]bool) error {
	if len(own) != n {
		return fmt.Errorf("%d pods are there, not %d", len(own), n)
	}
	for _, pod := range own {
		if !isReady(pod) {
			return fmt.Errorf("pod %s is not ready", pod.Name)
		}
		if !runs(pod, image) {
			return fmt.Errorf("pod %s has another image than %s", pod.Name, image)
		}
		if before[pod.UID] {
			return fmt.Errorf("pod %s was there before", pod.Name)
		}
	}
	return nil
}

func runs(pod *corev1.Pod, image string) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Image == image })
}
