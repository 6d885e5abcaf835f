package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
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
)

func imoocPods() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "batch.tutorial.kubebuilder.io", Version: "v1alpha1", Resource: "imoocpods"}
}

// change is a state of an object, or its deletion, with the time of the observation.
type change struct {
	at   time.Time
	obj  *unstructured.Unstructured
	gone bool
}

// witness observes a namespace and the nodes independently of the controller. It identifies pods by UID.
type witness struct {
	mu sync.Mutex
	// changes holds all observed changes, in order.
	changes []change
	pods    map[types.UID]*corev1.Pod
	events  map[types.UID]*corev1.Event
	// most is the maximum number of unfinished pods that an owner had at the same time.
	most map[types.UID]int
	// wrong holds violations of invariants.
	wrong []string
	// changed is closed at each change, and replaced with a new one.
	changed chan struct{}
}

// watchNamespace starts a witness. If there was a violation, the test fails at the end.
func watchNamespace(t *testing.T, namespace string) *witness {
	t.Helper()
	w := &witness{
		pods: map[types.UID]*corev1.Pod{}, events: map[types.UID]*corev1.Event{},
		most: map[types.UID]int{}, changed: make(chan struct{}),
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for resource, in := range map[schema.GroupVersionResource]string{
		corev1.SchemeGroupVersion.WithResource("pods"):   namespace,
		corev1.SchemeGroupVersion.WithResource("events"): namespace,
		corev1.SchemeGroupVersion.WithResource("nodes"):  "",
		imoocPods(): namespace,
	} {
		client := cluster.Dynamic.Resource(resource).Namespace(in)
		_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
			ListerWatcher: &cache.ListWatch{
				ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
					return client.List(ctx, opts)
				},
				WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
					return client.Watch(ctx, opts)
				},
			},
			ObjectType: &unstructured.Unstructured{},
			Handler: cache.ResourceEventHandlerFuncs{
				AddFunc:    func(obj any) { w.saw(obj, false) },
				UpdateFunc: func(_, obj any) { w.saw(obj, false) },
				DeleteFunc: func(obj any) { w.saw(obj, true) },
			},
		})
		running.Go(func() { informer.RunWithContext(ctx) })
		if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
			t.Fatal("the witness did not start")
		}
	}
	t.Cleanup(func() {
		stop()
		running.Wait()
		for _, wrong := range w.wrong {
			t.Error(wrong)
		}
	})
	return w
}

func (w *witness) saw(obj any, gone bool) {
	if tomb, is := obj.(cache.DeletedFinalStateUnknown); is {
		obj = tomb.Obj
	}
	u, is := obj.(*unstructured.Unstructured)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !is {
		w.wrong = append(w.wrong, fmt.Sprintf("the witness saw a %T", obj))
		return
	}
	w.changes = append(w.changes, change{time.Now(), u, gone})
	switch u.GetKind() {
	case "Pod":
		w.sawPod(u, gone)
	case "Event":
		event := &corev1.Event{}
		w.convert(u, event)
		w.events[event.UID] = event
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *witness) convert(u *unstructured.Unstructured, into any) {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into); err != nil {
		w.wrong = append(w.wrong, err.Error())
	}
}

func (w *witness) sawPod(u *unstructured.Unstructured, gone bool) {
	pod := &corev1.Pod{}
	w.convert(u, pod)
	w.pods[pod.UID] = pod
	if gone {
		delete(w.pods, pod.UID)
	}
	ref := metav1.GetControllerOf(pod)
	if ref == nil {
		return
	}
	live, names := 0, map[string]bool{}
	for _, other := range w.pods {
		if of := metav1.GetControllerOf(other); of == nil || of.UID != ref.UID || finished(other) {
			continue
		}
		if names[other.Name] {
			w.wrong = append(w.wrong, "two live pods have the name "+other.Name)
		}
		live++
		names[other.Name] = true
	}
	w.most[ref.UID] = max(w.most[ref.UID], live)
}

// forget resets the maximum number of unfinished pods of an owner.
func (w *witness) forget(owner types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.most[owner] = 0
}

func (w *witness) mostLive(owner types.UID) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most[owner]
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// podsOf returns the pods of an object, sorted by name, and all events about its current and deleted pods.
func (w *witness) podsOf(name string) (pods []*corev1.Pod, events []*corev1.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, pod := range w.pods {
		if ref := metav1.GetControllerOf(pod); ref != nil && ref.Name == name {
			pods = append(pods, pod)
		}
	}
	for _, event := range w.events {
		if ofPod(event.InvolvedObject.Name, name) && event.InvolvedObject.Kind == "Pod" {
			events = append(events, event)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods, events
}

// ofPod reports whether the name of a pod consists of the name of an object, a hash, and a slot number.
func ofPod(pod, object string) bool {
	rest, found := strings.CutPrefix(pod, object+"-")
	return found && strings.Count(rest, "-") == 1
}

// await waits until the observed pods and events of an object meet a condition.
func (w *witness) await(t *testing.T, what, name string, wanted func(pods []*corev1.Pod, events []*corev1.Event) bool) {
	t.Helper()
	timeout := time.After(deadline)
	for {
		w.mu.Lock()
		changed := w.changed
		w.mu.Unlock()
		pods, events := w.podsOf(name)
		if wanted(pods, events) {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("waited in vain until %s; there is\n%s", what, kubectl(t, "", "get", "pods,events", "-A", "-o", "wide"))
		}
	}
}
