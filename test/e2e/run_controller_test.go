package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis/batch/v1alpha1"
)

// The main use case: three running pods take three creates, and the scale takes one
// request.
func TestScaleWithTheControllerRunning(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	l := cluster.StartRunController(t, ns)
	l.AwaitOutput("in namespace " + ns)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "0")
	foo := cluster.ImoocPod(t, ns, "foo")
	cluster.AwaitConverged(t, ns, "foo", 0) // its first status may conflict with the scale

	// The audit log distinguishes users.
	out := cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "3", "--as", "scaler", "--as-group", "system:masters")
	if want := "imoocpod.batch.tutorial.kubebuilder.io/foo scaled\n"; out != want {
		t.Errorf("scale printed %q, want %q", out, want)
	}
	cluster.AwaitConverged(t, ns, "foo", 3)
	scaling := cluster.Requests(t, ns, func(r harness.Request) bool {
		return r.ImpersonatedUser != nil && r.ImpersonatedUser.Username == "scaler" && r.Writes()
	})
	if len(scaling) != 1 || scaling[0].Verb != "patch" || scaling[0].Resource() != "imoocpods" {
		t.Errorf("the scale took the requests %+v, want one PATCH of imoocpods", scaling)
	}
	creates := cluster.Requests(t, ns, func(r harness.Request) bool { return r.Verb == "create" && r.Resource() == "pods" })
	if len(creates) != 3 {
		t.Errorf("%d pods were created, want 3", len(creates))
	}
	if most, made := w.MostLive(foo.UID), w.EverCreated(foo.UID); most != 3 || made != 3 {
		t.Errorf("saw %d pods at once and %d ever, want 3 and 3", most, made)
	}
	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "1", "--timeout", "1m")
	pods := slices.DeleteFunc(cluster.PodsOf(t, ns, foo.UID), func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
	if len(pods) != 1 {
		t.Errorf("%d pods are not on their way out after the wait for 1", len(pods))
	}
	cluster.AwaitConverged(t, ns, "foo", 1)
	l.AwaitOutput("foo: 0 → 3 pods: creating 3")
	l.AwaitOutput("foo: 3 → 1 pod: deleting 2")
	if code := l.Stop(); code != 0 {
		t.Errorf("Ctrl-C ended the loop with exit code %d", code)
	}
}

// Whenever a controller is killed, the next one continues its work, and there is never
// an extra pod.
func TestKilledControllerIsReplaced(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	const n = 200
	w := cluster.WatchPods(t, ns)
	l := cluster.StartRunController(t, ns)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", fmt.Sprint(n))
	foo := cluster.ImoocPod(t, ns, "foo")
	w.Until(t, "the first pod exists", func() bool { return w.Created[foo.UID] > 0 })
	l.Kill()
	if made := w.EverCreated(foo.UID); made == 0 || made >= n {
		t.Fatalf("the loop was killed when %d of %d pods had been created, so this test shows nothing", made, n)
	}
	cluster.StartRunController(t, ns)
	cluster.AwaitConverged(t, ns, "foo", n)
	w.Until(t, "all pods have been seen", func() bool { return w.Created[foo.UID] >= n })
	if most, made := w.MostLive(foo.UID), w.EverCreated(foo.UID); most != n || made != n {
		t.Errorf("saw %d pods at once and %d ever, want %d and %d", most, made, n, n)
	}
}

func TestPodsAreReplacedAndForeignPodsLeftAlone(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	foreign, err := cluster.Core.Pods(ns).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "foreign", Labels: map[string]string{"app": "foo"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cluster.StartRunController(t, ns)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "3")
	cluster.AwaitConverged(t, ns, "foo", 3)
	foo := cluster.ImoocPod(t, ns, "foo")

	victim := cluster.PodsOf(t, ns, foo.UID)[1]
	harness.Must(t, cluster.Kubectl(t, ns, "delete", "pod", victim.Name))
	harness.Eventually(t, "the deleted pod is replaced", func() bool {
		pod, err := cluster.Core.Pods(ns).Get(t.Context(), victim.Name, metav1.GetOptions{})
		return err == nil && pod.UID != victim.UID
	})
	cluster.AwaitConverged(t, ns, "foo", 3)

	failed := cluster.PodsOf(t, ns, foo.UID)[2]
	cluster.PatchPodStatus(t, ns, failed.Name, map[string]any{"phase": "Failed", "reason": "Evicted"})
	harness.Eventually(t, "the failed pod is replaced", func() bool {
		pod, err := cluster.Core.Pods(ns).Get(t.Context(), failed.Name, metav1.GetOptions{})
		return err == nil && pod.UID != failed.UID
	})
	cluster.AwaitConverged(t, ns, "foo", 3)

	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "0")
	cluster.AwaitConverged(t, ns, "foo", 0)
	still, err := cluster.Core.Pods(ns).Get(t.Context(), "foreign", metav1.GetOptions{})
	if err != nil || still.UID != foreign.UID || still.DeletionTimestamp != nil {
		t.Errorf("the foreign pod with the label app=foo was touched: %v, %v", still.DeletionTimestamp, err)
	}
	touched := cluster.Requests(t, ns, func(r harness.Request) bool { return harness.ByPlugin(r) && r.Writes() && r.Object.Name == "foreign" })
	if len(touched) > 0 {
		t.Errorf("the plugin wrote to the foreign pod: %+v", touched)
	}
}

// quota limits the pods of a namespace.
func quota(t *testing.T, namespace, pods string) {
	t.Helper()
	limit(t, namespace, corev1.ResourcePods, pods)
}

// limit creates a quota, and waits until the API server enforces it. That is later than its
// status says, because the admission plugin has caches, including one for namespaces without
// a quota. A dry run of creating a secret, which the quota forbids, shows when.
func limit(t *testing.T, namespace string, resource corev1.ResourceName, most string) {
	t.Helper()
	cluster.Apply(t, namespace, fmt.Sprintf(`{apiVersion: v1, kind: ResourceQuota, metadata: {name: few}, spec: {hard: {secrets: "0", %s: %q}}}`, resource, most))
	probe := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}
	harness.Eventually(t, "the quota is in force", func() bool {
		q, err := cluster.Core.ResourceQuotas(namespace).Get(t.Context(), "few", metav1.GetOptions{})
		if err != nil || q.Status.Hard.Name(resource, "").String() != most {
			return false
		}
		_, err = cluster.Core.Secrets(namespace).Create(t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), "exceeded quota: few")
	})
}

// The pods of a deleted object are garbage collected, with or without a controller, and
// the controller does not interfere.
func TestDelete(t *testing.T) {
	t.Parallel()
	for _, cascade := range []string{"background", "foreground", "orphan"} {
		t.Run(cascade, func(t *testing.T) {
			t.Parallel()
			ns := cluster.NewNamespace(t)
			w := cluster.WatchPods(t, ns)
			cluster.StartRunController(t, ns)
			cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "3")
			cluster.AwaitConverged(t, ns, "foo", 3)
			foo := cluster.ImoocPod(t, ns, "foo")
			before := podUIDs(t, ns)
			out := cluster.Imoocpod(t, ns, "delete", "foo", "--cascade="+cascade)
			if want := fmt.Sprintf("imoocpod.batch.tutorial.kubebuilder.io \"foo\" deleted from %s namespace\n", ns); out != want {
				t.Errorf("delete printed %q, want %q", out, want)
			}
			if cascade == "orphan" {
				if after := podUIDs(t, ns); !sameUIDs(before, after) {
					t.Errorf("the orphans are %v, were %v", after, before)
				}
				// A new object of the same name ignores them.
				cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "2")
				cluster.AwaitConverged(t, ns, "foo", 2)
				for uid := range before {
					if !podUIDs(t, ns)[uid] {
						t.Errorf("the orphan %s is gone", uid)
					}
				}
				return
			}
			harness.Eventually(t, "the pods are gone", func() bool { return len(podUIDs(t, ns)) == 0 })
			if made := w.EverCreated(foo.UID); made != 3 {
				t.Errorf("%d pods were made for an object of 3 that was deleted", made)
			}
		})
	}
}

// podName returns the name of the pod in a slot.
func podName(imp *v1alpha1.ImoocPod, slot int32) string {
	return slots.PodName(imp.Name, imp.UID, "", slots.Slot(slot))
}

func podUIDs(t *testing.T, namespace string) map[types.UID]bool {
	t.Helper()
	list, err := cluster.Core.Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	uids := map[types.UID]bool{}
	for _, pod := range list.Items {
		uids[pod.UID] = true
	}
	return uids
}

func sameUIDs(a, b map[types.UID]bool) bool {
	for uid := range a {
		if !b[uid] {
			return false
		}
	}
	return len(a) == len(b)
}
