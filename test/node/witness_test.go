package node

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// witness is a harness.Witness that also watches events. With -record, it keeps all states of objects.
type witness struct {
	*harness.Witness

	events map[types.UID]*corev1.Event
	// changes holds all observed changes, in order. It is empty without -record.
	changes []change
}

// change is a state of an object, or its deletion, with the time of the observation.
type change struct {
	at   time.Time
	obj  *unstructured.Unstructured
	gone bool
}

func watchNamespace(t *testing.T, namespace string) *witness {
	t.Helper()
	w := &witness{Witness: cluster.WatchPods(t, namespace), events: map[types.UID]*corev1.Event{}}
	w.Observe(t, cluster, harness.Resource("events"), namespace, func(obj *unstructured.Unstructured, _ bool) {
		w.events[obj.GetUID()] = harness.As[corev1.Event](t, obj)
	})
	if *record == "" {
		return w
	}
	keep := func(obj *unstructured.Unstructured, gone bool) {
		w.changes = append(w.changes, change{time.Now(), obj, gone})
	}
	w.Observe(t, cluster, kinds.ImoocPod().Resource, namespace, keep)
	w.Observe(t, cluster, harness.Resource("pods"), namespace, keep)
	w.Observe(t, cluster, harness.Resource("events"), namespace, keep)
	w.Observe(t, cluster, harness.Resource("nodes"), metav1.NamespaceAll, keep)
	return w
}

// condition is a condition on the pods of an object, and on all events about its current and deleted pods.
type condition func(pods []*corev1.Pod, events []*corev1.Event) bool

// await waits until the observed pods and events of an object meet a condition.
func (w *witness) await(t *testing.T, what, name string, wanted condition) {
	t.Helper()
	if !w.Within(deadline, func() bool { return wanted(w.podsOf(name), w.eventsOf(name)) }) {
		t.Fatalf("timed out waiting until %s; objects:\n%s", what,
			harness.Must(t, cluster.Kubectl(t, "", "get", "pods,events", "-A", "-o", "wide")))
	}
}

// podsOf returns the pods of an object, sorted by name. The witness must be locked.
func (w *witness) podsOf(name string) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range w.Pods {
		if ref := metav1.GetControllerOf(pod); ref != nil && ref.Name == name {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods
}

// eventsOf returns the events about the pods of an object. The witness must be locked.
func (w *witness) eventsOf(name string) []*corev1.Event {
	var events []*corev1.Event
	for _, event := range w.events {
		if event.InvolvedObject.Kind == "Pod" && ofPod(event.InvolvedObject.Name, name) {
			events = append(events, event)
		}
	}
	return events
}

// ofPod reports whether the name of a pod consists of the name of an object, a hash, and a slot number.
func ofPod(pod, object string) bool {
	rest, found := strings.CutPrefix(pod, object+"-")
	return found && strings.Count(rest, "-") == 1
}
