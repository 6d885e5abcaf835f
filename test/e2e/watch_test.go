package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// witness watches the pods of a namespace from outside: it is not the loop's
// watch, and it knows pods by their UIDs.
type witness struct {
	mu sync.Mutex
	// pods are those that exist, by UID.
	pods map[types.UID]*corev1.Pod
	// most is the highest number of live pods seen at once, of each owner.
	most map[types.UID]int
	// made is how many pods of each owner were ever seen.
	made map[types.UID]int
	// wrong lists what must never be.
	wrong []string
	// changed is told of every event.
	changed chan struct{}
}

// watchPods starts a witness. When the test ends, anything wrong that it saw
// fails the test.
func watchPods(t *testing.T, namespace string) *witness {
	t.Helper()
	w := &witness{pods: map[types.UID]*corev1.Pod{}, most: map[types.UID]int{}, made: map[types.UID]int{}, changed: make(chan struct{}, 1)}
	ctx, stop := context.WithCancel(context.Background())
	lw := cache.NewListWatchFromClient(cluster.core.RESTClient(), "pods", namespace, fields.Everything())
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: lw,
		ObjectType:    &corev1.Pod{},
		ResyncPeriod:  time.Duration(0),
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { w.saw(obj, false) },
			UpdateFunc: func(_, obj any) { w.saw(obj, false) },
			DeleteFunc: func(obj any) { w.saw(obj, true) },
		},
	})
	done := make(chan struct{})
	go func() { defer close(done); informer.RunWithContext(ctx) }()
	if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
		t.Fatal("the witness did not start")
	}
	t.Cleanup(func() {
		stop()
		<-done
		for _, wrong := range w.wrong {
			t.Error(wrong)
		}
	})
	return w
}

func (w *witness) saw(obj any, gone bool) {
	if tomb, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tomb.Obj
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if ref := metav1.GetControllerOf(pod); ref != nil {
		if _, known := w.pods[pod.UID]; !known && !gone {
			w.made[ref.UID]++
		}
	}
	if gone {
		delete(w.pods, pod.UID)
	} else {
		w.pods[pod.UID] = pod
	}
	w.count()
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// count brings most up to date and looks for two live pods in one slot.
func (w *witness) count() {
	live := map[types.UID]int{}
	slots := map[string]types.UID{}
	for uid, pod := range w.pods {
		ref := metav1.GetControllerOf(pod)
		if ref == nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		live[ref.UID]++
		slot := fmt.Sprintf("%s/%s", ref.UID, pod.Labels["imoocpod.dev/slot"])
		if other, taken := slots[slot]; taken {
			w.wrong = append(w.wrong, fmt.Sprintf("I1: two live pods in slot %s: %s and %s", slot, other, uid))
		}
		slots[slot] = uid
	}
	for owner, n := range live {
		w.most[owner] = max(w.most[owner], n)
	}
}

// mostLive is the highest number of live pods of an owner seen at once.
func (w *witness) mostLive(owner types.UID) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most[owner]
}

// everMade is how many pods an owner ever had.
func (w *witness) everMade(owner types.UID) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.made[owner]
}
