package e2e

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

var (
	chaosDuration = flag.Duration("chaos", 0, "for how long new random runs are begun, as \"make chaos\" says it")
	chaosSeed     = flag.Uint64("seed", 0, "run only the random run of this seed")
)

const (
	// chaosRuns is the number of random runs if no duration is given. Nightly runs have many more.
	chaosRuns = 16
	// chaosLanes is the number of concurrent runs.
	chaosLanes = 4
)

// tally counts the random runs and their events. excess is the number of surplus pods that two
// controllers without a lease created.
var tally struct{ runs, actions, faults, writes, excess atomic.Int64 }

// In a random run, a user scales an object up and down, pods are deleted, evicted, failed, and
// modified, and one or two controllers without a lease run with an unreliable network and server.
// The final state must be exactly as requested. There must never be too many pods or too many
// deletions.
func TestChaos(t *testing.T) {
	t.Parallel()
	if *chaosSeed != 0 {
		chaosRun(t, *chaosSeed)
		return
	}
	end := time.Now().Add(*chaosDuration)
	seeds := make(chan uint64)
	go func() {
		defer close(seeds)
		for n := 0; time.Now().Before(end) || (*chaosDuration == 0 && n < chaosRuns); n++ {
			seeds <- rand.Uint64()>>1 + 1
		}
	}()
	t.Run("runs", func(t *testing.T) {
		for lane := range chaosLanes {
			t.Run(fmt.Sprint(lane), func(t *testing.T) {
				t.Parallel()
				for seed := range seeds {
					t.Run(fmt.Sprintf("seed-%d", seed), func(t *testing.T) { chaosRun(t, seed) })
				}
			})
		}
	})
	t.Logf("%d random runs, %d actions, %d faults injected, %d writes of loops, %d creates too many of two loops without a lease",
		tally.runs.Load(), tally.actions.Load(), tally.faults.Load(), tally.writes.Load(), tally.excess.Load())
	if tally.runs.Load() == 0 {
		t.Error("there were no random runs")
	}
}

type chaos struct {
	*harness.Driver
	t         *testing.T
	namespace string
	w         *harness.Witness
	rand      *rand.Rand
	stable    *harness.Faults // for controllers whose watches are never delayed
	stale     *harness.Faults // for controllers whose watches are sometimes delayed
	most      int32
	// alone means that only one controller runs at a time, and its watches are not delayed.
	// Otherwise, two controllers without a lease may create extra pods for a while, because neither
	// sees the latest pods of the other. They create at most one pod for each slot that was ever
	// wanted. After slots were removed and reused, this limit may exceed the number of wanted pods.
	alone bool
	// earlier is the number of pods created by an earlier controller.
	earlier int32
	// slow means that a finalizer delays pod deletion.
	slow bool

	mu    sync.Mutex
	loops []*harness.Controller
}

func chaosRun(t *testing.T, seed uint64) {
	t.Cleanup(func() { // runs after the cleanups of the witness and the driver, which may fail the test
		if t.Failed() {
			t.Logf("repeat with: go test -race ./test/e2e -run TestChaos -seed %d", seed)
		}
	})
	ns := cluster.NewNamespace(t)
	if *chaosDuration > 0 { // the pods of many runs would fill the nodes
		t.Cleanup(func() {
			if err := cluster.Core.Namespaces().Delete(context.Background(), ns, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	w := cluster.WatchPods(t, ns)
	c := &chaos{
		Driver: cluster.NewDriver(t, ns, w), t: t, namespace: ns, w: w,
		rand:   rand.New(rand.NewPCG(seed, 1)),
		stable: harness.NewFaults(seed), stale: harness.NewFaults(seed + 1),
	}
	bystanders := c.bystanders()
	c.begin()
	for range 8 + c.rand.IntN(16) {
		c.act()
		tally.actions.Add(1)
		if err := harness.Sleep(t.Context(), time.Duration(c.rand.IntN(150))*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	c.stable.SetCalm(true)
	c.stale.SetCalm(true)
	last := int32(c.rand.IntN(7))
	c.scaleTo(last)
	// An annotation holds the removed slots, so their removal does not change the generation. Even
	// if the status is current, one of two controllers may still fill a removed slot.
	c.whileLettingGo(func() { cluster.AwaitConverged(t, ns, "foo", int(last), c.inWantedSlot) })
	bound := int(c.most)
	if !c.alone {
		bound = c.SlotsEverWanted()
	}
	if most := w.MostLive(c.UID); most > bound+int(c.earlier) {
		t.Errorf("I1: %d live pods at once, and at most %d may be, beside %d from before (alone: %t)", most, bound, c.earlier, c.alone)
	}
	c.mustBeUntouched(bystanders)
	tally.runs.Add(1)
	tally.faults.Add(c.stable.Injected.Load() + c.stale.Injected.Load())
}

func (c *chaos) begin() {
	n := int32(c.rand.IntN(6))
	c.most = n
	template := map[string]any{"spec": map[string]any{
		"terminationGracePeriodSeconds": []int64{0, 1, 2, 3600}[c.rand.IntN(4)],
		"containers":                    []any{map[string]any{"name": "main", "image": "busybox"}},
	}}
	metadata := map[string]any{}
	template["metadata"] = metadata
	if c.slow = c.rand.IntN(3) == 0; c.slow {
		metadata["finalizers"] = []any{harness.Finalizer}
		c.t.Cleanup(c.letGo)
	}
	if c.rand.IntN(4) == 0 {
		metadata["labels"] = map[string]any{apis.LabelReplaces: "7", apis.LabelSlot: "7", apis.LabelOwner: "7", apis.LabelTemplateHash: "7"}
	}
	c.Create(n, template)
	if c.rand.IntN(4) == 0 {
		c.earlier = int32(1 + c.rand.IntN(3))
		c.adopted(int(c.earlier))
	}
	c.alone = c.rand.IntN(2) == 0
	c.start(c.stable)
	if !c.alone && c.rand.IntN(2) == 0 {
		c.start(c.stale)
	}
}

// adopted creates n pods that belong to foo but have no slot, like pods of an earlier controller.
func (c *chaos) adopted(n int) {
	kind := kinds.ImoocPod()
	owner := *metav1.NewControllerRef(&metav1.ObjectMeta{Name: "foo", UID: c.UID}, kind.GroupVersionKind())
	for i := range n {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("foo-earlier-%d", i), Labels: map[string]string{apis.LabelApp: "foo"}, OwnerReferences: []metav1.OwnerReference{owner},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox"}}},
		}
		if _, err := cluster.Core.Pods(c.namespace).Create(c.t.Context(), pod, metav1.CreateOptions{}); err != nil {
			c.t.Fatal(err)
		}
	}
}

// start starts a controller as if it had regained its lease. Such a controller must not exit by
// itself, whatever the server responds.
func (c *chaos) start(f *harness.Faults) {
	count := func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if harness.IsWrite(r) {
			tally.writes.Add(1)
		}
		return next.RoundTrip(r)
	}
	var excess *atomic.Int64
	if !c.alone {
		excess = &tally.excess
	}
	l := cluster.StartController(c.t, controller.Options{Kinds: []kinds.Kind{kinds.ImoocPod()}, Namespace: c.namespace, Resumed: true},
		count, f.Intercept, c.Check(excess))
	c.mu.Lock()
	c.loops = append(c.loops, l)
	c.mu.Unlock()
	c.Go(func() {
		select {
		case <-l.Done:
			if !l.Killed() {
				c.Blame("a loop gave up by itself: %v", l.Err)
			}
		case <-c.t.Context().Done():
		}
	})
}

// someLoop returns a random controller of this run, which may already be killed.
func (c *chaos) someLoop() *harness.Controller {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.loops[c.rand.IntN(len(c.loops))]
}

func (c *chaos) scaleTo(n int32) {
	c.most = max(c.most, n)
	c.Scale(n)
}

func (c *chaos) act() {
	switch c.rand.IntN(18) {
	case 0, 1, 2:
		c.scaleTo(int32(c.rand.IntN(9)))
	case 3:
		c.onSomePod(func(pod *corev1.Pod) error {
			return cluster.Core.Pods(c.namespace).Delete(c.t.Context(), pod.Name, metav1.DeleteOptions{})
		})
	case 4:
		c.onSomePod(func(pod *corev1.Pod) error {
			return cluster.Core.Pods(c.namespace).Delete(c.t.Context(), pod.Name, *metav1.NewDeleteOptions(0))
		})
	case 5:
		c.onSomePod(func(pod *corev1.Pod) error {
			return cluster.Core.Pods(c.namespace).EvictV1(c.t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}})
		})
	case 6:
		c.onSomePod(func(pod *corev1.Pod) error {
			return c.patch(pod, `{"status":{"phase":"Failed","reason":"Evicted"}}`, "status")
		})
	case 7:
		c.onSomePod(func(pod *corev1.Pod) error {
			return c.patch(pod, `{"metadata":{"labels":{"`+apis.LabelOwner+`":null}}}`)
		})
	case 8:
		c.onSomePod(func(pod *corev1.Pod) error {
			return c.patch(pod, `{"metadata":{"annotations":{"someone":"was here"}}}`)
		})
	case 9: // kill a controller, and start a new one
		c.someLoop().Kill()
		if next := c.rand.IntN(2); c.alone {
			c.start(c.stable)
		} else {
			c.start([]*harness.Faults{c.stable, c.stale}[next])
		}
	case 10, 11:
		c.stale.Hold()
	case 12:
		c.stale.Release()
	case 13:
		c.letGo()
	case 14, 15:
		c.SetImage(fmt.Sprintf("image-%d", c.rand.IntN(3)))
	case 16:
		c.remove()
	case 17: // set the count, and reuse all removed slots or none
		n := int32(c.rand.IntN(9))
		c.most = max(c.most, n)
		c.SetSlots(n, c.Removed()[:c.rand.IntN(2)*len(c.Removed())])
	}
}

// remove removes a random wanted slot, if any, and reduces the count by one.
func (c *chaos) remove() {
	n := int32(0)
	var wanted []int32
	for slot := range int32(9 + len(c.Removed())) {
		if c.Wants(slot) {
			n, wanted = n+1, append(wanted, slot)
		}
	}
	if n == 0 {
		return
	}
	removed := append(slices.Clone(c.Removed()), wanted[c.rand.IntN(len(wanted))])
	slices.Sort(removed)
	c.SetSlots(n-1, removed)
}

func (c *chaos) patch(pod *corev1.Pod, patch string, subresources ...string) error {
	_, err := cluster.Core.Pods(c.namespace).Patch(c.t.Context(), pod.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	return err
}

// onSomePod calls do with a random pod of foo, if any. The pod may already be deleted.
func (c *chaos) onSomePod(do func(*corev1.Pod) error) {
	c.t.Helper()
	pods := c.w.Owned(c.UID)
	if len(pods) == 0 {
		return
	}
	err := do(pods[c.rand.IntN(len(pods))])
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && !apierrors.IsTooManyRequests(err) {
		c.t.Error(err)
	}
}

// whileLettingGo calls do, and removes the finalizer from terminating pods until do returns.
func (c *chaos) whileLettingGo(do func()) {
	if !c.slow {
		do()
		return
	}
	done := make(chan struct{})
	c.Go(func() {
		for {
			changed := c.w.Changed()
			c.letGo()
			select {
			case <-changed:
			case <-done:
				return
			}
		}
	})
	defer close(done)
	do()
}

// letGo removes the finalizer from terminating pods.
func (c *chaos) letGo() {
	for _, pod := range c.w.Owned(c.UID) {
		if pod.DeletionTimestamp != nil && len(pod.Finalizers) > 0 {
			_, err := cluster.Core.Pods(c.namespace).Patch(context.Background(), pod.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				c.t.Error(err)
			}
		}
	}
}

// bystanders creates and returns pods that have labels of foo's pods but do not belong to foo.
func (c *chaos) bystanders() []*corev1.Pod {
	var made []*corev1.Pod
	for name, labels := range map[string]map[string]string{
		"same-app":      {apis.LabelApp: "foo"},
		"same-identity": {apis.LabelApp: "foo", apis.LabelOwner: "somebody", apis.LabelSlot: "0"},
	} {
		pod, err := cluster.Core.Pods(c.namespace).Create(c.t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox"}}},
		}, metav1.CreateOptions{})
		if err != nil {
			c.t.Fatal(err)
		}
		made = append(made, pod)
	}
	return made
}

func (c *chaos) inWantedSlot(pod *corev1.Pod) bool {
	slot, err := strconv.ParseInt(pod.Labels[apis.LabelSlot], 10, 32)
	return err == nil && c.Wants(int32(slot))
}

func (c *chaos) mustBeUntouched(pods []*corev1.Pod) {
	for _, pod := range pods {
		now := c.w.Pod(pod.UID)
		if now == nil || now.DeletionTimestamp != nil || len(now.OwnerReferences) > 0 || len(now.Labels) != len(pod.Labels) {
			c.t.Errorf("I4: the bystander %s was touched: %+v", pod.Name, now)
		}
	}
}
