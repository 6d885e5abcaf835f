package clusterwide

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

func patchNode(t *testing.T, name, patch string) {
	t.Helper()
	if _, err := cluster.Core.Nodes().Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Each eligible node has one pod, even after nodes are created, changed, or deleted.
func TestNodesPlan(t *testing.T) {
	ns := cluster.NewNamespace(t)
	cluster.WatchPods(t, ns)
	before := cluster.NodeNames(t)
	l := cluster.StartController(t, controller.Options{Namespace: ns, Kinds: []kinds.Kind{kinds.MyDaemonSet()}})
	foo := cluster.NewOwner(t, ns, kinds.MyDaemonSet(), "foo", map[string]any{"image": "nginx"})
	foo.AwaitPodsOn(len(before), "nginx", before...)

	const extra = "zz-extra"
	room := corev1.ResourceList{"cpu": resource.MustParse("10"), "memory": resource.MustParse("64Gi"), "pods": resource.MustParse("100")}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: extra, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}}}
	node.Status.Allocatable, node.Status.Capacity = room, room
	if _, err := cluster.Core.Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	remove := sync.OnceFunc(func() {
		if err := cluster.Core.Nodes().Delete(context.Background(), extra, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(remove)
	all := append(slices.Clone(before), extra)
	foo.AwaitPodsOn(len(all), "nginx", all...)

	// Heartbeats of nodes must not cause reconciles (I3 in docs/reliability.md).
	looks, _ := cluster.AwaitIdle(t, ns, l)
	patchNode(t, extra, `{"metadata":{"annotations":{"a":"b"}}}`)
	cluster.PatchPodStatus(t, ns, foo.LivePods()[0].Name, map[string]any{"message": "a heartbeat"})
	if now, _ := cluster.AwaitIdle(t, ns, l); now != looks {
		t.Errorf("%d reconciles after heartbeats", now-looks)
	}

	harness.Must(t, cluster.Kubectl(t, "", "cordon", extra))
	foo.AwaitPodsOn(len(all), "nginx", all...)
	harness.Must(t, cluster.Kubectl(t, "", "uncordon", extra))
	patchNode(t, extra, `{"spec":{"taints":[{"key":"e2e","effect":"NoSchedule"}]}}`)
	foo.AwaitPodsOn(len(before), "nginx", all...)
	patchNode(t, extra, `{"spec":{"taints":[{"key":"e2e","effect":"NoExecute"}]}}`)
	foo.AwaitPodsOn(len(before), "nginx", before...)
	patchNode(t, extra, `{"spec":{"taints":null}}`)
	foo.AwaitPodsOn(len(all), "nginx", all...)

	remove()
	harness.Eventually(t, "the pod of the deleted node is deleted", func() bool { return len(foo.LivePods()) == len(before) })
	// Without a kubelet, the pod does not end, and the pod garbage collector would take a minute.
	harness.Must(t, cluster.Kubectl(t, ns, "delete", "pod", "--field-selector", "spec.nodeName="+extra, "--force", "--grace-period=0"))
	foo.AwaitPodsOn(len(before), "nginx", before...)
}
