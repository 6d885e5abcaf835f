package e2e

import (
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

const createdFoo = "imoocpod.batch.tutorial.kubebuilder.io/foo created"

// The strictest level of Pod Security admits the default pod. If this level rejects a pod, the status of the ImoocPod
// contains the server's message.
func TestCreateUnderPodSecurity(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	harness.Must(t, cluster.Kubectl(t, "", "label", "namespace", ns, "pod-security.kubernetes.io/enforce=restricted"))
	cluster.StartRunController(t, ns)
	if out := cluster.Imoocpod(t, ns, "create", "foo"); out != createdFoo+"\n" {
		t.Errorf("create printed %q, want %q", out, createdFoo+"\n")
	}
	cluster.Imoocpod(t, ns, "create", "nap", "--replicas", "2", "--", "sleep", "60")
	cluster.AwaitConverged(t, ns, "foo", 1)
	cluster.AwaitConverged(t, ns, "nap", 2)
	foo := cluster.ImoocPod(t, ns, "foo")
	pod := cluster.PodsOf(t, ns, foo.UID)[0]
	if pod.Labels["app"] != "foo" || pod.Labels[apis.LabelOwner] != string(foo.UID) || pod.Labels[apis.LabelSlot] != "0" {
		t.Errorf("labels of the pod = %v, want those of slot 0 of foo", pod.Labels)
	}
	if ref := metav1.GetControllerOf(&pod); ref.Kind != "ImoocPod" || ref.Name != "foo" || ref.BlockOwnerDeletion == nil || !*ref.BlockOwnerDeletion {
		t.Errorf("controller of the pod = %+v, want ImoocPod foo, which blocks the deletion", ref)
	}
	for _, v := range pod.Spec.Volumes {
		if v.Projected != nil {
			t.Errorf("the pod has a service account token: %+v", v)
		}
	}
	cluster.Imoocpod(t, ns, "create", "root", "--image", "busybox")
	root := cluster.Owner(t, ns, kinds.ImoocPod(), "root")
	harness.Eventually(t, "the status reports the rejection by Pod Security", func() bool {
		c := root.Condition(apis.ConditionReplicaFailure)
		return c.Status == metav1.ConditionTrue && strings.Contains(c.Message, `violates PodSecurity "restricted:latest"`)
	})
}
