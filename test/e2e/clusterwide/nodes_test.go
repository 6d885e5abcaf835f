package clusterwide

import (
	"context"
	"slices"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

func patchNode(t *testing.T, name, patch string, subresources ...string) {
	t.Helper()
	if _, err := cluster.Core.Nodes().Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...); err != nil {
		t.Fatal(err)
	}
}

// Each eligible node has one pod while nodes are created, changed, and deleted.
func TestNodesPlan(t *testing.T) {
	ns := cluster.NewNamespace(t)
	cluster.WatchPods(t, ns)
	before := cluster.NodeNames(t)
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

	// I3 holds despite heartbeats of the nodes.
	looks, writes := cluster.AwaitIdle(t, ns, l)
	patchNode(t, extra, `{"metadata":{"annotations":{"a":"b"}}}`)
	patchNode(t, extra, `{"status":{"nodeInfo":{"kernelVersion":"of today"}}}`, "status")
	cluster.PatchPodStatus(t, ns, foo.LivePods()[0].Name, map[string]any{"message": "a heartbeat"})
	foo.Patch(`{"metadata":{"annotations":{"a":"b"}}}`)
	cluster.StaysIdle(t, ns, l, looks, writes)

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
	harness.Eventually(t, "all pods are replaced", func() bool {
		return !slices.ContainsFunc(foo.LivePods(), func(p corev1.Pod) bool {
			return slices.ContainsFunc(old, func(o corev1.Pod) bool { return o.UID == p.UID })
		})
	})
	foo.AwaitPodsOn(len(all), "other", all...)
	harness.Must(t, cluster.Kubectl(t, ns, "delete", "pod", foo.LivePods()[0].Name, "--wait=false"))
	foo.AwaitPodsOn(len(all), "other", all...)

	remove()
	harness.Eventually(t, "the pod of the deleted node is deleted", func() bool { return len(foo.LivePods()) == len(before) })
	// No kubelet ends the pod; the pod garbage collector would take a minute.
	harness.Must(t, cluster.Kubectl(t, ns, "delete", "pod", "--field-selector", "spec.nodeName="+extra, "--force", "--grace-period=0"))
	foo.AwaitPodsOn(len(before), "other", before...)
	harness.Must(t, cluster.Kubectl(t, ns, "delete", "mydaemonset", "foo", "--cascade=foreground"))
	harness.Eventually(t, "the pods are gone", func() bool { return len(foo.LivePods()) == 0 })
}

func quantities(of map[corev1.ResourceName]string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, n := range of {
		list[name] = resource.MustParse(n)
	}
	return list
}
