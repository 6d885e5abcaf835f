package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

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
	list, err := cluster.core.Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: "!e2e/pool"})
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
	if _, err := cluster.core.Nodes().Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...); err != nil {
		t.Fatal(err)
	}
}

// runsOn waits until an object has one pod of an image on each of some nodes, and
// says how many nodes should have one.
func (o *owner) runsOn(desired int, image string, nodes ...string) {
	o.t.Helper()
	eventually(o.t, fmt.Sprintf("%s runs %s on %v, of which %d count", o.name, image, nodes, desired), func() bool {
		var on []string
		for _, pod := range o.livePods() {
			if pod.Status.Phase != corev1.PodRunning || pod.Spec.Containers[0].Image != image {
				return false
			}
			on = append(on, pod.Spec.NodeName)
		}
		slices.Sort(on)
		status := o.kind.Mapping.Status
		return slices.Equal(on, nodes) && o.count(status.Desired) == desired && o.count(status.Current) == desired &&
			o.count(status.Updated) == desired && o.count(status.Available) == desired
	})
	o.ready("as it says")
}

// A pod on each node that may run one, while nodes come, go and change. The
// nodes are everybody's, so this runs before the tests in parallel.
func TestNodesPlan(t *testing.T) {
	ns := newNamespace(t)
	watchPods(t, ns)
	before := nodeNames(t)
	l := startInnerFor(t, ns, []kinds.Kind{kinds.MyDaemonSet()}, nil)
	foo := newOwner(t, ns, kinds.MyDaemonSet(), "foo", map[string]any{"image": "nginx"})
	foo.runsOn(len(before), "nginx", before...)

	const extra = "zz-extra"
	var resources = map[corev1.ResourceName]string{"cpu": "10", "memory": "64Gi", "pods": "100"}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: extra, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}}}
	node.Status.Allocatable, node.Status.Capacity = quantities(resources), quantities(resources)
	if _, err := cluster.core.Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	removed := false
	remove := func() {
		if removed {
			return
		}
		removed = true
		if err := cluster.core.Nodes().Delete(context.Background(), extra, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(remove)
	all := append(slices.Clone(before), extra)
	foo.runsOn(len(all), "nginx", all...)

	// I3, also while nodes say that they are alive.
	looks, writes := converges(t, ns, l)
	patchNode(t, extra, `{"metadata":{"annotations":{"a":"b"}}}`)
	patchNode(t, extra, `{"status":{"nodeInfo":{"kernelVersion":"of today"}}}`, "status")
	patchPodStatus(t, ns, foo.livePods()[0].Name, map[string]any{"message": "a heartbeat"})
	foo.patch(`{"metadata":{"annotations":{"a":"b"}}}`)
	staysQuiet(t, ns, l, looks, writes)

	must(t, kubectl(t, "", "cordon", extra))
	foo.runsOn(len(all), "nginx", all...)
	must(t, kubectl(t, "", "uncordon", extra))
	patchNode(t, extra, `{"spec":{"taints":[{"key":"e2e","effect":"NoSchedule"}]}}`)
	foo.runsOn(len(before), "nginx", all...)
	patchNode(t, extra, `{"spec":{"taints":[{"key":"e2e","effect":"NoExecute"}]}}`)
	foo.runsOn(len(before), "nginx", before...)
	patchNode(t, extra, `{"spec":{"taints":null}}`)
	foo.runsOn(len(all), "nginx", all...)

	foo.patch(`{"spec":{"image":"other"}}`)
	foo.runsOn(len(all), "other", all...)
	old := foo.livePods()
	foo.patch(`{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"2026-01-01T00:00:00Z"}}}`)
	eventually(t, "all pods are others", func() bool {
		return !slices.ContainsFunc(foo.livePods(), func(p corev1.Pod) bool {
			return slices.ContainsFunc(old, func(o corev1.Pod) bool { return o.UID == p.UID })
		})
	})
	foo.runsOn(len(all), "other", all...)
	must(t, kubectl(t, ns, "delete", "pod", foo.livePods()[0].Name))
	foo.runsOn(len(all), "other", all...)

	remove()
	eventually(t, "the pod of the node that is gone is deleted", func() bool { return len(foo.livePods()) == len(before) })
	// There is no kubelet to end it. The pod garbage collector does, a minute later.
	must(t, kubectl(t, ns, "delete", "pod", "--field-selector", "spec.nodeName="+extra, "--force", "--grace-period=0"))
	foo.runsOn(len(before), "other", before...)
	must(t, kubectl(t, ns, "delete", "mydaemonset", "foo", "--cascade=foreground"))
	eventually(t, "the pods are gone", func() bool { return len(foo.livePods()) == 0 })
}

// For every write of a story and every way in which it can go wrong, a new loop
// ends with one pod of the last image on every node.
func TestEveryCrashPointOfNodes(t *testing.T) {
	t.Parallel()
	nodes := nodeNames(t)
	// A create and a deletion of each node's pod, and a create again.
	everyCrashPoint(t, int64(3*len(nodes)), func(t *testing.T, k int64, way string) int64 {
		ns := newNamespace(t)
		w := watchPods(t, ns)
		d := newDriver(t, ns, w)
		foo := newOwner(t, ns, kinds.MyDaemonSet(), "foo", map[string]any{"image": "nginx"})
		writes := startCrashing(d, kinds.MyDaemonSet(), k, way)
		foo.runsOn(len(nodes), "nginx", nodes...)
		foo.patch(`{"spec":{"image":"other"}}`)
		foo.runsOn(len(nodes), "other", nodes...)
		d.close()
		if made := w.everMade(foo.get().GetUID()); made != 2*len(nodes) {
			t.Errorf("%d pods were made for %d nodes and two images", made, len(nodes))
		}
		return writes.Load()
	})
}

// What is written is written for the owner as it was just read, also where the
// cache has yet to hear of a change that makes no generation.
func TestCacheThatIsBehindStopsNothing(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	nodes := nodeNames(t)
	slow := &faults{}
	startInnerFor(t, ns, []kinds.Kind{kinds.MyDaemonSet()}, nil, holdWatch(slow, "/mydaemonsets"))
	foo := newOwner(t, ns, kinds.MyDaemonSet(), "foo", map[string]any{"image": "nginx"})
	foo.runsOn(len(nodes), "nginx", nodes...)
	slow.hold()
	foo.patch(`{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"2026-01-01T00:00:00Z"}}}`)
	victim := foo.livePods()[0]
	must(t, kubectl(t, ns, "delete", "pod", victim.Name))
	restarted := func(p corev1.Pod) bool { return p.Annotations[apis.AnnotationRestartedAt] != "" }
	eventually(t, "the pod is made again, as foo is now", func() bool {
		return slices.ContainsFunc(foo.livePods(), func(p corev1.Pod) bool { return p.Name == victim.Name && restarted(p) })
	})
	slow.release()
	eventually(t, "all pods are restarted", func() bool {
		return !slices.ContainsFunc(foo.livePods(), func(p corev1.Pod) bool { return !restarted(p) })
	})
	foo.runsOn(len(nodes), "nginx", nodes...)
}

// Nodes are the cluster's: who may not read them is told so, and the other kinds
// go on. When the right comes, so do the pods.
func TestNodesThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	var allowed atomic.Bool
	l := startInnerFor(t, ns, []kinds.Kind{kinds.MyDaemonSet(), kinds.HelloWorld()}, nil,
		func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/nodes") && !allowed.Load() {
				return answer(r, http.StatusForbidden, "Forbidden", "nodes is forbidden"), nil
			}
			return next.RoundTrip(r)
		})
	foo := newOwner(t, ns, kinds.MyDaemonSet(), "foo", map[string]any{"image": "nginx"})
	bar := newOwner(t, ns, kinds.HelloWorld(), "bar", map[string]any{"size": int64(1)})
	bar.ready("although nodes may not be read")
	eventually(t, "the loop says what it lacks", func() bool {
		return strings.Contains(l.output(), "cannot list nodes: nodes is forbidden; not reconciled until that is possible: mydaemonsets.apps.zhongmingmao.io")
	})
	if status := foo.get().Object["status"]; status != nil {
		t.Errorf("foo was reconciled: %v", status)
	}
	allowed.Store(true)
	foo.ready("nodes may be read")
	if n := strings.Count(l.output(), "cannot list nodes"); n != 1 {
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
