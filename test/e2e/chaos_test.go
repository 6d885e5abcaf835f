package e2e

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
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
	chaosDuration = flag.Duration("chaos", 0, "for how long to start new random runs, set by \"make chaos\"")
	chaosSeed     = flag.Uint64("seed", 0, "run only the random run with this seed")
)

const (
	// chaosRuns is the number of random runs if no duration is given. Nightly tests run many more.
	chaosRuns = 8
	// chaosLanes is the number of concurrent runs.
	chaosLanes = 4
)

var tally struct{ runs, actions, faults atomic.Int64 }

// In a random run, a user scales an object and changes its image. Someone deletes, evicts, and modifies pods, and makes
// pods fail. Controllers run without a lease, with an unreliable network and server, and are killed. The final state
// must be exactly as requested. Two unfinished pods must never be in one slot. There must never be more unfinished pods
// than the highest requested count plus the pods of an earlier controller.
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
	t.Logf("%d random runs, %d actions, %d faults injected", tally.runs.Load(), tally.actions.Load(), tally.faults.Load())
	if tally.runs.Load() == 0 {
		t.Error("no random run completed")
	}
}

type chaos struct {
	*harness.Owner
	t      *testing.T
	uid    types.UID
	w      *harness.Witness
	rand   *rand.Rand
	stable *harness.Faults // for controllers whose watches are never delayed
	stale  *harness.Faults // for controllers whose watches are sometimes delayed
	// most is the highest replica count requested so far.
	most int
	// earlier is the number of pods created by an earlier controller.
	earlier int
	// slow means that a finalizer delays pod deletion.
	slow bool
	// running waits for the goroutines of the run.
	running sync.WaitGroup
	loops   []*harness.Controller
}

func chaosRun(t *testing.T, seed uint64) {
	t.Cleanup(func() { // runs after the cleanup of the witness, which can fail the test
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
	c := &chaos{
		Owner: cluster.Owner(t, ns, kinds.ImoocPod(), "foo"), t: t, w: cluster.WatchPods(t, ns),
		rand:   rand.New(rand.NewPCG(seed, 1)),
		stable: harness.NewFaults(seed), stale: harness.NewFaults(seed + 1),
	}
	t.Cleanup(c.running.Wait)
	bystanders := []*corev1.Pod{
		c.newPod("same-app", map[string]string{apis.LabelApp: "foo"}),
		c.newPod("same-identity", map[string]string{apis.LabelApp: "foo", apis.LabelOwner: "somebody", apis.LabelSlot: "0"}),
	}
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
	last := c.rand.IntN(7)
	c.scaleTo(last)
	c.whileLettingGo(func() { cluster.AwaitConverged(t, ns, "foo", last, inSlotBelow(last)) })
	if most := c.w.MostLive(c.uid); most > c.most+c.earlier {
		t.Errorf("I1: %d live pods at once, want at most %d plus %d of an earlier controller", most, c.most, c.earlier)
	}
	c.mustBeUntouched(bystanders)
	tally.runs.Add(1)
	tally.faults.Add(c.stable.Injected.Load() + c.stale.Injected.Load())
}

func (c *chaos) begin() {
	c.most = c.rand.IntN(6)
	metadata := map[string]any{}
	template := map[string]any{"metadata": metadata, "spec": map[string]any{
		"terminationGracePeriodSeconds": []int64{0, 1, 2, 3600}[c.rand.IntN(4)],
		"containers":                    []any{map[string]any{"name": "main", "image": "busybox"}},
	}}
	if c.slow = c.rand.IntN(3) == 0; c.slow {
		metadata["finalizers"] = []any{harness.Finalizer}
		c.t.Cleanup(c.letGo)
	}
	if c.rand.IntN(4) == 0 {
		metadata["labels"] = map[string]any{apis.LabelReplaces: "7", apis.LabelSlot: "7", apis.LabelOwner: "7", apis.LabelTemplateHash: "7"}
	}
	cluster.NewOwner(c.t, c.Namespace, c.Kind, c.Name, map[string]any{"replicas": int64(c.most), "template": template})
	foo := c.Get()
	c.uid = foo.GetUID()
	if c.rand.IntN(4) == 0 { // foo has pods without a slot, like pods of an earlier controller
		c.earlier = 1 + c.rand.IntN(3)
		owner := *metav1.NewControllerRef(foo, c.Kind.GroupVersionKind())
		for i := range c.earlier {
			c.newPod(fmt.Sprintf("foo-earlier-%d", i), map[string]string{apis.LabelApp: "foo"}, owner)
		}
	}
	c.start(c.stable)
	if c.rand.IntN(3) == 0 {
		c.start(c.stale)
	}
}

// newPod creates a pod with the test's client, not as a controller.
func (c *chaos) newPod(name string, labels map[string]string, owners ...metav1.OwnerReference) *corev1.Pod {
	pod, err := cluster.Core.Pods(c.Namespace).Create(c.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, OwnerReferences: owners},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return pod
}

// start starts a controller as if it had regained its lease. Such a controller must not exit by
// itself, whatever the server responds.
func (c *chaos) start(f *harness.Faults) {
	opts := controller.Options{Kinds: []kinds.Kind{c.Kind}, Resumed: true}
	opts.Namespace = c.Namespace
	l := cluster.StartController(c.t, opts, f)
	c.loops = append(c.loops, l)
	c.running.Go(func() {
		select {
		case <-l.Done:
			if !l.Killed() {
				c.t.Errorf("a controller exited by itself: %v", l.Err)
			}
		case <-c.t.Context().Done():
		}
	})
}

func (c *chaos) scaleTo(n int) {
	c.most = max(c.most, n)
	c.Scale(n)
}

func (c *chaos) act() {
	pods := cluster.Core.Pods(c.Namespace)
	switch c.rand.IntN(16) {
	case 0, 1, 2:
		c.scaleTo(c.rand.IntN(9))
	case 3:
		c.onSomePod(func(pod *corev1.Pod) error {
			return pods.Delete(c.t.Context(), pod.Name, metav1.DeleteOptions{})
		})
	case 4:
		c.onSomePod(func(pod *corev1.Pod) error {
			return pods.Delete(c.t.Context(), pod.Name, *metav1.NewDeleteOptions(0))
		})
	case 5:
		c.onSomePod(func(pod *corev1.Pod) error {
			return pods.EvictV1(c.t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}})
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
	case 9: // kill a controller, which can be dead already, and start a new one
		c.loops[c.rand.IntN(len(c.loops))].Kill()
		c.start([]*harness.Faults{c.stable, c.stale}[c.rand.IntN(2)])
	case 10, 11:
		c.stale.Hold()
	case 12:
		c.stale.Release()
	case 13:
		c.letGo()
	case 14, 15:
		c.Patch(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"image-%d"}]}}}}`, c.rand.IntN(3))
	}
}

func (c *chaos) patch(pod *corev1.Pod, patch string, subresources ...string) error {
	_, err := cluster.Core.Pods(c.Namespace).Patch(context.Background(), pod.Name, types.MergePatchType,
		[]byte(patch), metav1.PatchOptions{}, subresources...)
	return err
}

// onSomePod calls do with a random pod of foo, if any. The pod might already be deleted.
func (c *chaos) onSomePod(do func(*corev1.Pod) error) {
	c.t.Helper()
	pods := c.w.Owned(c.uid)
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
	c.running.Go(func() {
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
	for _, pod := range c.w.Owned(c.uid) {
		if pod.DeletionTimestamp != nil && len(pod.Finalizers) > 0 {
			if err := c.patch(pod, `{"metadata":{"finalizers":null}}`); err != nil && !apierrors.IsNotFound(err) {
				c.t.Error(err)
			}
		}
	}
}

// inSlotBelow returns a condition that is met if the slot of a pod is one of the n lowest.
func inSlotBelow(n int) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool {
		slot, err := strconv.Atoi(pod.Labels[apis.LabelSlot])
		return err == nil && slot >= 0 && slot < n
	}
}

func (c *chaos) mustBeUntouched(pods []*corev1.Pod) {
	for _, pod := range pods {
		now := c.w.Pod(pod.UID)
		if now == nil || now.DeletionTimestamp != nil || len(now.OwnerReferences) > 0 || len(now.Labels) != len(pod.Labels) {
			c.t.Errorf("I4: pod %s, which foo does not own, was changed: %+v", pod.Name, now)
		}
	}
}
