package operators

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// world is a namespace as observed by the test's own watch. At each event, it evaluates a condition,
// and records in which periods the condition is met.
type world struct {
	harness.Observer

	// object is the object under test, or nil if it does not exist. above maps the UID of
	// each object to the UID of its controller.
	object *unstructured.Unstructured
	pods   map[types.UID]*corev1.Pod
	above  map[types.UID]types.UID
	// The function is() returns an error unless the condition is met. why is the result of the last
	// call. spans lists the periods in which the condition was met. The last period can be open.
	is    func() error
	why   error
	spans []span
}

// watchWorld watches one object of a namespace, its pods, and the owners between them.
func watchWorld(
	t *testing.T, namespace string, resource schema.GroupVersionResource, between ...schema.GroupVersionResource,
) *world {
	t.Helper()
	w := &world{pods: map[types.UID]*corev1.Pod{}, above: map[types.UID]types.UID{}}
	watch := func(resource schema.GroupVersionResource, saw func(obj *unstructured.Unstructured, gone bool)) {
		w.Observe(t, plane, resource, namespace, func(obj *unstructured.Unstructured, gone bool) {
			if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
				w.above[obj.GetUID()] = ref.UID
			}
			saw(obj, gone)
			w.judge()
		})
	}
	builtIn := []schema.GroupVersionResource{
		harness.Resource("replicasets.apps"), harness.Resource("statefulsets.apps"), harness.Resource("deployments.apps"),
	}
	for _, resource := range slices.Concat(builtIn, between) {
		watch(resource, func(*unstructured.Unstructured, bool) {})
	}
	watch(resource, func(obj *unstructured.Unstructured, gone bool) {
		if metav1.GetControllerOfNoCopy(obj) != nil {
			return
		}
		if w.object = obj; gone {
			w.object = nil
		}
	})
	watch(harness.Resource("pods"), func(obj *unstructured.Unstructured, gone bool) {
		if w.pods[obj.GetUID()] = harness.As[corev1.Pod](t, obj); gone {
			delete(w.pods, obj.GetUID())
		}
	})
	return w
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
	w.Lock()
	defer w.Unlock()
	change()
	w.is, w.spans = is, nil
	w.judge()
}

// behind is how far the test's own watch can lag behind the tested command. A pod takes several times
// as long to become ready.
const behind = 150 * time.Millisecond

// so returns the first span that overlaps the given period, and whether there is such a span. If
// there is none yet, it waits for one until the duration d has passed.
func (w *world) so(from, to time.Time, d time.Duration) (first span, is bool) {
	is = w.Within(d, func() bool {
		for _, first = range w.spans {
			if !first.from.After(to) && (first.to.IsZero() || !first.to.Before(from)) {
				return true
			}
		}
		return false
	})
	return first, is
}

// reason returns an error that explains why the condition is not met, or nil.
func (w *world) reason() error {
	w.Lock()
	defer w.Unlock()
	return w.why
}

// until waits until holds() returns nil. On a timeout, it fails the test.
func (w *world) until(t *testing.T, what string, holds func() error) {
	t.Helper()
	if err := w.within(harness.Timeout, holds); err != nil {
		t.Fatalf("timed out after %s waiting until %s: %v", harness.Timeout, what, err)
	}
}

// within waits until holds() returns nil. After the duration d, within returns the last error. The
// world is locked during each call of holds.
func (w *world) within(d time.Duration, holds func() error) (err error) {
	w.Within(d, func() bool {
		err = holds()
		return err == nil
	})
	return err
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

// exactly returns an error unless there are exactly n pods, all of them are ready and have the image,
// and none of them is in before.
func exactly(own []*corev1.Pod, n int, image string, before map[types.UID]bool) error {
	if len(own) != n {
		return fmt.Errorf("%d pods exist, want %d", len(own), n)
	}
	for _, pod := range own {
		if !harness.IsReady(pod) {
			return fmt.Errorf("pod %s is not ready", pod.Name)
		}
		if !runs(pod, image) {
			return fmt.Errorf("pod %s does not have the image %s", pod.Name, image)
		}
		if before[pod.UID] {
			return fmt.Errorf("pod %s is an old pod", pod.Name)
		}
	}
	return nil
}

func runs(pod *corev1.Pod, image string) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Image == image })
}
