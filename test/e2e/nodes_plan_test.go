package e2e

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	corev1 "k8s.io/api/core/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// If any write of a story fails in any way, a new controller ends with one pod of the
// last image on every node.
func TestEveryCrashPointOfNodes(t *testing.T) {
	t.Parallel()
	nodes := cluster.NodeNames(t)
	// For each node, the controller creates a pod, deletes it, and creates another.
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

// Writes are based on a fresh read of the owner, so they respect even a change that the cache has
// not seen and that leaves the generation unchanged.
func TestStaleCache(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	nodes := cluster.NodeNames(t)
	slow := &harness.Faults{}
	cluster.StartControllerFor(t, ns, []kinds.Kind{kinds.MyDaemonSet()}, nil, harness.HoldWatch(slow, "/mydaemonsets"))
	foo := cluster.NewOwner(t, ns, kinds.MyDaemonSet(), "foo", map[string]any{"image": "nginx"})
	foo.AwaitPodsOn(len(nodes), "nginx", nodes...)
	slow.Hold()
	foo.Patch(`{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"2026-01-01T00:00:00Z"}}}`)
	victim := foo.LivePods()[0]
	harness.Must(t, cluster.Kubectl(t, ns, "delete", "pod", victim.Name, "--wait=false"))
	restarted := func(p corev1.Pod) bool { return p.Annotations[apis.AnnotationRestartedAt] != "" }
	harness.Eventually(t, "the pod is created again from the current foo", func() bool {
		return slices.ContainsFunc(foo.LivePods(), func(p corev1.Pod) bool { return p.Name == victim.Name && restarted(p) })
	})
	slow.Release()
	harness.Eventually(t, "all pods are restarted", func() bool {
		return !slices.ContainsFunc(foo.LivePods(), func(p corev1.Pod) bool { return !restarted(p) })
	})
	foo.AwaitPodsOn(len(nodes), "nginx", nodes...)
}

// A controller without permission to read nodes reports that, and reconciles only the
// other kinds. When the permission is granted, it creates the pods.
func TestForbiddenNodes(t *testing.T) {
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
	harness.Eventually(t, "the controller reports the missing right", func() bool {
		return strings.Contains(l.Output(), "cannot list nodes: nodes is forbidden; trying again; not reconciled until then: mydaemonsets.apps.zhongmingmao.io")
	})
	if status := foo.Get().Object["status"]; status != nil {
		t.Errorf("foo was reconciled: %v", status)
	}
	allowed.Store(true)
	foo.AwaitReady("nodes may be read")
	if n := strings.Count(l.Output(), "cannot list nodes"); n != 1 {
		t.Errorf("it was printed %d times", n)
	}
}
