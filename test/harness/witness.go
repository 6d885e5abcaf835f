package harness

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// QuietFor is how long tests watch the pods before they conclude that nothing more changes.
const QuietFor = 5 * time.Second

// Witness watches the pods of a namespace, independently of the controller. It identifies pods by UID.
type Witness struct {
	Observer

	// Pods holds the existing pods by UID. Read it only while the witness is locked, for example in a
	// condition of Until.
	Pods map[types.UID]*corev1.Pod
	// Created counts all pods that each owner has had so far. Read it only while the witness is locked.
	Created map[types.UID]int

	t    *testing.T
	list func(context.Context) (*corev1.PodList, error)

	// gone holds the UIDs of the pods that were deleted.
	gone map[types.UID]bool
	// mostLive is the maximum number of unfinished pods that each owner had at the same time.
	mostLive map[types.UID]int
	// wrong lists the violations of I1 (docs/reliability.md).
	wrong []string
	// look, if set, is called at every event about a pod.
	look func()
}

// WatchPods starts a witness. When the test ends, it fails if the witness has seen a violation of I1.
func (c *Cluster) WatchPods(t *testing.T, namespace string) *Witness {
	t.Helper()
	w := &Witness{
		t: t,
		list: func(ctx context.Context) (*corev1.PodList, error) {
			return c.Core.Pods(namespace).List(ctx, metav1.ListOptions{})
		},
		Pods: map[types.UID]*corev1.Pod{}, Created: map[types.UID]int{},
		gone: map[types.UID]bool{}, mostLive: map[types.UID]int{},
	}
	t.Cleanup(func() {
		for _, wrong := range w.wrong {
			t.Error(wrong)
		}
	})
	w.Observe(t, c, Resource("pods"), namespace, func(obj *unstructured.Unstructured, gone bool) {
		w.sawPod(As[corev1.Pod](t, obj), gone)
	})
	return w
}

// FewestHealthy starts counting pods that are ready and not terminating. The returned function
// returns the minimum so far.
func (w *Witness) FewestHealthy() func() int {
	fewest := math.MaxInt
	w.Lock()
	defer w.Unlock()
	w.look = func() {
		healthy := 0
		for _, pod := range w.Pods {
			if pod.DeletionTimestamp == nil && IsReady(pod) {
				healthy++
			}
		}
		fewest = min(fewest, healthy)
	}
	return func() int {
		w.catchUp()
		w.Lock()
		defer w.Unlock()
		return fewest
	}
}

// IsReady reports whether the condition Ready of a pod is true.
func IsReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func (w *Witness) sawPod(pod *corev1.Pod, gone bool) {
	if ref := metav1.GetControllerOf(pod); ref != nil {
		if _, known := w.Pods[pod.UID]; !known && !gone {
			w.Created[ref.UID]++
		}
	}
	if gone {
		delete(w.Pods, pod.UID)
		w.gone[pod.UID] = true
	} else {
		w.Pods[pod.UID] = pod
	}
	w.count()
	if w.look != nil {
		w.look()
	}
}

// count updates mostLive, and records each slot with two unfinished pods (I1 in docs/reliability.md).
func (w *Witness) count() {
	live := map[types.UID]int{}
	slots := map[string]types.UID{}
	for uid, pod := range w.Pods {
		ref := metav1.GetControllerOf(pod)
		if ref == nil || finished(pod) {
			continue
		}
		live[ref.UID]++
		slot, labeled := pod.Labels[apis.LabelSlot]
		if !labeled {
			continue
		}
		slot = fmt.Sprintf("%s of %s", slot, ref.UID)
		if other, taken := slots[slot]; taken {
			w.wrong = append(w.wrong, fmt.Sprintf("I1: two live pods in slot %s: %s and %s", slot, other, uid))
		}
		slots[slot] = uid
	}
	for owner, n := range live {
		w.mostLive[owner] = max(w.mostLive[owner], n)
	}
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Until waits until a condition is true. It calls the condition with the witness locked.
func (w *Witness) Until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	if !w.Within(Timeout, condition) {
		t.Fatalf("timed out waiting until %s; pods:%s", what, w.summary())
	}
}

// catchUp waits until the witness, whose watch may lag behind the server, has seen all changes so far.
func (w *Witness) catchUp() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	pods, err := w.list(ctx)
	for err != nil && ctx.Err() == nil { // a test may have stopped the server
		<-time.After(200 * time.Millisecond)
		pods, err = w.list(ctx)
	}
	if err != nil {
		w.t.Errorf("the witness cannot list pods: %v", err)
		return
	}
	if !w.Within(Timeout, func() bool { return w.caughtUp(pods) }) {
		w.t.Errorf("timed out before the witness had seen all pods; it has seen:%s", w.summary())
	}
}

// caughtUp reports whether the witness has seen all changes that a list of pods reflects. It compares each pod, because
// after an interrupted watch, an informer lists the pods again, and delivers them in any order.
func (w *Witness) caughtUp(pods *corev1.PodList) bool {
	listed := map[types.UID]bool{}
	for _, pod := range pods.Items {
		seen := w.Pods[pod.UID]
		if seen == nil && !w.gone[pod.UID] || seen != nil && later(pod.ResourceVersion, seen.ResourceVersion) {
			return false
		}
		listed[pod.UID] = true
	}
	for uid, pod := range w.Pods {
		if !listed[uid] && !later(pod.ResourceVersion, pods.ResourceVersion) {
			return false // the witness has not seen the deletion yet
		}
	}
	return true
}

func later(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}

// AwaitQuiet waits until no pod has changed for the given time.
func (w *Witness) AwaitQuiet(t *testing.T, while time.Duration) {
	t.Helper()
	end := time.After(Timeout)
	for {
		select {
		case <-w.Changed():
		case <-time.After(while):
			return
		case <-end:
			t.Fatalf("timed out waiting for %s without a change; pods:%s", while, w.summary())
		}
	}
}

// Pod returns a pod by its UID, or nil.
func (w *Witness) Pod(uid types.UID) *corev1.Pod {
	w.Lock()
	defer w.Unlock()
	return w.Pods[uid]
}

// Owned lists the pods of an owner.
func (w *Witness) Owned(owner types.UID) []*corev1.Pod {
	w.catchUp()
	w.Lock()
	defer w.Unlock()
	var list []*corev1.Pod
	for _, pod := range w.Pods {
		if ref := metav1.GetControllerOf(pod); ref != nil && ref.UID == owner {
			list = append(list, pod)
		}
	}
	return list
}

func (w *Witness) summary() string {
	w.Lock()
	defer w.Unlock()
	var s strings.Builder
	for _, pod := range w.Pods {
		fmt.Fprintf(&s, "\n  pod %s, phase %s, deletion timestamp %v", pod.Name, pod.Status.Phase, pod.DeletionTimestamp)
	}
	return s.String()
}

// MostLive returns the maximum number of unfinished pods that an owner had at the same time.
func (w *Witness) MostLive(owner types.UID) int {
	w.catchUp()
	w.Lock()
	defer w.Unlock()
	return w.mostLive[owner]
}

// EverCreated returns the number of all pods that an owner has had so far.
func (w *Witness) EverCreated(owner types.UID) int {
	w.catchUp()
	w.Lock()
	defer w.Unlock()
	return w.Created[owner]
}
