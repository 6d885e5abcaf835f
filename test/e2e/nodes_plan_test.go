package e2e

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// nodeNames lists the nodes of the cluster, without those that a test keeps for
// itself (newNode).
func nodeNames(t *testing.T) []string {
	t.Helper()
	list, err := cluster.Core.Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: "!e2e/pool"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, node := range list.Items {
		names = append(names, node.Name)
	}
	slices.Sort(names)
	return names
}

func patchNode(t *testing.T, name, patch string, subresources ...string) {
	t.Helper()
	if _, err := cluster.Core.Nodes().Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...); err != nil {
		t.Fatal(err)
	}
}

// A pod on each node that may run one, while nodes come, go and change. The
// nodes are everybody's, so this runs before the tests in parallel.
func TestNodesPlan(t *testing.T) {
	ns := cluster.NewNamespace(t)
	cluster.WatchPods(t, ns)
	before := nodeNames(t)
	l := cluster.StartControllerFor(t, ns, []kinds.Kind{kinds.MyDaemonSet()}, nil)
	foo := cluster.NewOwner(t, ns, kinds.MyDaemonSet(), "foo", map[string]any{"image": "nginx"})
	foo.AwaitPodsOn(len(before), "nginx", before...)

	const extra = "zz-extra"
	var resources = map[corev1.ResourceName]string{"cpu": "10", "memory": "64Gi", "pods": "100"}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: extra, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}}}
	node.Status.Allocatable, node.Status.Capacity = quantities(resources), quantities(resources)
	if _, err := cluster.Core.Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	removed := false
	remove := func() {
		if removed {
			return
		}
		removed = true
		if err := cluster.Core.Nodes().Delete(context.Background(), extra, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(remove)
	all := append(slices.Clone(before), extra)
	foo.AwaitPodsOn(len(all), "nginx", all...)

	// I3, also while nodes say that they are alive.
	looks, writes := converges(t, ns, l)
	patchNode(t, extra, `{"metadata":{"annotations":{"a":"b"}}}`)
	patchNode(t, extra, `{"status":{"nodeInfo":{"kernelVersion":"of today"}}}`, "status")
	cluster.PatchPodStatus(t, ns, foo.LivePods()[0].Name, map[string]any{"message": "a heartbeat"})
	foo.Patch(`{"metadata":{"annotations":{"a":"b"}}}`)
	staysQuiet(t, ns, l, looks, writes)

	harness.Must(t, cluster.Kubectl(t, "", "cordon", extra))
	foo.AwaitPodsOn(len(all), "nginx", all...)
	harness.Must(t, cluster.Kubectl(t, "", "uncordon", extra))
	patchNode(t, extra, `{"spec":{"taints":[{"key":"e2e","effect":"NoSchedule"}]}}`)
	foo.AwaitPodsOn(len(before), "nginx", all...)
	patchNode(t, extra, `{"spec":{"taints":[{"key":"e2e","effect":"NoExecute"}]}}`)
	foo.AwaitPodsOn(len(before), "nginx", before...)
	patchNode(t, extra, `{"spec":{"taints":null}}`)
	foo.AwaitPodsOn(len(all), "nginx", all...)

	foo.Patch(`{"spec":{"image":"other"}}`)
	foo.AwaitPodsOn(len(all), "other", all...)
	old := foo.LivePods()
	foo.Patch(`{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"2026-01-01T00:00:00Z"}}}`)
	harness.Eventually(t, "all pods are others", func() bool {
		return !slices.ContainsFunc(foo.LivePods(), func(p corev1.Pod) bool {
			return slices.ContainsFunc(old, func(o corev1.Pod) bool { return o.UID == p.UID })
		})
	})
	foo.AwaitPodsOn(len(all), "other", all...)
	harness.Must(t, cluster.Kubectl(t, ns, "delete", "pod", foo.LivePods()[0].Name))
	foo.AwaitPodsOn(len(all), "other", all...)

	remove()
	harness.Eventually(t, "the pod of the node that is gone is deleted", func() bool { return len(foo.LivePods()) == len(before) })
	// There is no kubelet to end it. The pod garbage collector does, a minute later.
	harness.Must(t, cluster.Kubectl(t, ns, "delete", "pod", "--field-selector", "spec.nodeName="+extra, "--force", "--grace-period=0"))
	foo.AwaitPodsOn(len(before), "other", before...)
	harness.Must(t, cluster.Kubectl(t, ns, "delete", "mydaemonset", "foo", "--cascade=foreground"))
	harness.Eventually(t, "the pods are gone", func() bool { return len(foo.LivePods()) == 0 })
}

// For every write of a story and every way in which it can go wrong, a new loop
// ends with one pod of the last image on every node.
func TestEveryCrashPointOfNodes(t *testing.T) {
	t.Parallel()
	nodes := nodeNames(t)
	// A create and a deletion of each node's pod, and a create again.
	everyCrashPoint(t, int64(3*len(nodes)), func(t *testing.T, k int64, way string) int64 {
		ns := cluster.NewNamespace(t)
		w := cluster.WatchPods(t, ns)
		d := cluster.NewDriver(t, ns, w)
		foo := cluster.NewOwner(t, ns, kinds.MyDaemonSet(), "foo", map[string]any{"image": "nginx"})
		writes := startCrashing(t, ns, d, kinds.MyDaemonSet(), k, way)
		foo.AwaitPodsOn(len(nodes), "nginx", nodes...)
		foo.Patch(`{"spec":{"image":"other"}}`)
		foo.AwaitPodsOn(len(nodes), "other", nodes...)
		d.Close()
		if made := w.EverCreated(foo.Get().GetUID()); made != 2*len(nodes) {
			t.Errorf("%d pods were made for %d nodes and two images", made, len(nodes))
		}
		return writes.Load()
	})
}

// What is written is written for the owner as it was just read, also where the
// cache has yet to hear of a change that makes no generation.
func TestCacheThatIsBehindStopsNothing(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	nodes := nodeNames(t)
	slow := &harness.Faults{}
	cluster.StartControllerFor(t, ns, []kinds.Kind{kinds.MyDaemonSet()}, nil, harness.HoldWatch(slow, "/mydaemonsets"))
	foo := cluster.NewOwner(t, ns, kinds.MyDaemonSet(), "foo", map[string]any{"image": "nginx"})
	foo.AwaitPodsOn(len(nodes), "nginx", nodes...)
	slow.Hold()
	foo.Patch(`{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"2026-01-01T00:00:00Z"}}}`)
	victim := foo.LivePods()[0]
	harness.Must(t, cluster.Kubectl(t, ns, "delete", "pod", victim.Name))
	restarted := func(p corev1.Pod) bool { return p.Annotations[apis.AnnotationRestartedAt] != "" }
	harness.Eventually(t, "the pod is made again, as foo is now", func() bool {
		return slices.ContainsFunc(foo.LivePods(), func(p corev1.Pod) bool { return p.Name == victim.Name && restarted(p) })
	})
	slow.Release()
	harness.Eventually(t, "all pods are restarted", func() bool {
		return !slices.ContainsFunc(foo.LivePods(), func(p corev1.Pod) bool { return !restarted(p) })
	})
	foo.AwaitPodsOn(len(nodes), "nginx", nodes...)
}

// Nodes are the cluster's: who may not read them is told so, and the other kinds
// go on. When the right comes, so do the pods.
func TestNodesThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	var allowed atomic.Bool
	l := cluster.StartControllerFor(t, ns, []kinds.Kind{kinds.MyDaemonSet(), kinds.HelloWorld()}, nil,
		func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/nodes") && !allowed.Load() {
				return harness.Refuse(r, http.StatusForbidden, "Forbidden", "nodes is forbidden"), nil
			}
			return next.RoundTrip(r)
		})
	foo := cluster.NewOwner(t, ns, kinds.MyDaemonSet(), "foo", map[string]any{"image": "nginx"})
	bar := cluster.NewOwner(t, ns, kinds.HelloWorld(), "bar", map[string]any{"size": int64(1)})
	bar.AwaitReady("although nodes may not be read")
	harness.Eventually(t, "the loop says what it lacks", func() bool {
		return strings.Contains(l.Output(), "cannot list nodes: nodes is forbidden; trying again; not reconciled until then: mydaemonsets.apps.zhongmingmao.io")
	})
	if status := foo.Get().Object["status"]; status != nil {
		t.Errorf("foo was reconciled: %v", status)
	}
	allowed.Store(true)
	foo.AwaitReady("nodes may be read")
	if n := strings.Count(l.Output(), "cannot list nodes"); n != 1 {
		t.Errorf("it was said %d times", n)
	}
}

func quantities(of map[corev1.ResourceName]string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, n := range of {
		list[name] = resource.MustParse(n)
	}
	return list
}
