package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

// newNode creates a node that kwok simulates, waits until it is ready, and deletes it when the test
// ends. The taints keep the pods of other tests away.
func newNode(t *testing.T, name string, labels map[string]string, taints ...corev1.Taint) {
	t.Helper()
	room := corev1.ResourceList{"cpu": resource.MustParse("100"), "memory": resource.MustParse("1Ti"), "pods": resource.MustParse("500")}
	_, err := cluster.Core.Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}},
		Spec:       corev1.NodeSpec{Taints: taints},
		Status:     corev1.NodeStatus{Capacity: room, Allocatable: room},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { deleteNode(t, name) })
	harness.Eventually(t, "the node "+name+" is ready", func() bool {
		node, err := cluster.Core.Nodes().Get(t.Context(), name, metav1.GetOptions{})
		return err == nil && isReadyNode(node) && len(node.Spec.Taints) == len(taints)
	})
}

func isReadyNode(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// awaitBudget waits until the PodDisruptionBudget foo expects the given number of pods and allows n
// evictions. The disruption controller discovers new CRDs only every half minute. It backs off
// between retries if the budget is unchanged, so awaitBudget changes the budget each time.
func awaitBudget(t *testing.T, namespace string, pods, n int32) {
	t.Helper()
	var status policyv1.PodDisruptionBudgetStatus
	tries := 0
	err := wait.PollUntilContextTimeout(t.Context(), time.Second/2, harness.Timeout, true, func(ctx context.Context) (bool, error) {
		tries++
		change := fmt.Appendf(nil, `{"metadata":{"annotations":{"e2e/tries":"%d"}}}`, tries)
		var found policyv1.PodDisruptionBudget
		err := cluster.Core.RESTClient().Patch(types.MergePatchType).AbsPath("/apis/policy/v1/namespaces/" + namespace + "/poddisruptionbudgets/foo").Body(change).Do(ctx).Into(&found)
		status = found.Status
		return status.ExpectedPods == pods && status.DisruptionsAllowed == n, err
	})
	if err != nil {
		t.Fatalf("timed out before the budget of %d pods allowed %d evictions: %v; its last status is %+v", pods, n, err, status)
	}
}

// kubectl drain moves the pods to another node without violating the budget, which is a percentage of
// the desired number of pods in /scale.
func TestDrain(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	pool := map[string]string{"e2e/pool": ns}
	taint := corev1.Taint{Key: "e2e/pool", Value: ns, Effect: corev1.TaintEffectNoSchedule}
	first, second := ns+"-first", ns+"-second"
	newNode(t, first, pool, taint)
	cluster.Apply(t, ns, "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: foo}, spec: {maxUnavailable: 25%, selector: {matchLabels: {app: foo}}}}")
	cluster.Apply(t, ns, harness.ImoocPodManifest("foo", `
spec:
  replicas: 3
  template:
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {e2e/pool: `+ns+`}
      tolerations: [{key: e2e/pool, operator: Exists}]
      containers: [{name: main, image: web}]`))
	cluster.StartRunController(t, ns)
	cluster.AwaitConverged(t, ns, "foo", 3)
	newNode(t, second, pool, taint)
	awaitBudget(t, ns, 3, 1)
	fewest := w.FewestHealthy()

	// A budget records evicted pods by name. If the disruption controller misses the termination of
	// an evicted pod, it treats the replacement, which has the same name, as evicted for two minutes
	// (k8s.io/kubernetes/pkg/controller/disruption, DeletionTimeout). So wait longer.
	harness.Must(t, cluster.Kubectl(t, "", "drain", first, "--timeout=3m"))
	cluster.AwaitConverged(t, ns, "foo", 3)
	if n := fewest(); n < 2 {
		t.Errorf("as few as %d pods were healthy during the drain, want at least 2", n)
	}
	for _, pod := range cluster.PodsOf(t, ns, cluster.ImoocPod(t, ns, "foo").UID) {
		if pod.Spec.NodeName != second {
			t.Errorf("pod %s is on node %s, want %s", pod.Name, pod.Spec.NodeName, second)
		}
	}
}

// An autoscaler changes the replica count through /scale. Without metrics, it only enforces its minimum and maximum.
func TestAutoscaler(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.WatchPods(t, ns)
	cluster.StartRunController(t, ns)
	autoscale := func(apiVersion, kind string, least, most int) {
		t.Helper()
		cluster.Apply(t, ns, fmt.Sprintf("{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: %s}, spec: {minReplicas: %d, maxReplicas: %d, scaleTargetRef: {apiVersion: %s, kind: %s, name: foo}}}",
			strings.ToLower(kind), least, most, apiVersion, kind))
	}
	// The manifests have no replica count, so the autoscalers read the defaults of the schemas.
	cluster.Apply(t, ns, harness.ImoocPodManifest("foo", ""))
	cluster.Apply(t, ns, manifest(appService, "foo", "spec: {deploymentName: web}"))
	cluster.AwaitConverged(t, ns, "foo", 1)
	autoscale("batch.tutorial.kubebuilder.io/v1alpha1", "ImoocPod", 3, 5)
	autoscale("appcontroller.k8s.io/v1alpha1", "AppService", 2, 2)
	cluster.AwaitConverged(t, ns, "foo", 3)
	harness.Eventually(t, "the autoscaler has scaled the AppService, which has scaled its Deployment", func() bool {
		d, err := cluster.Deployments(ns).Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			return false
		}
		n, _, _ := unstructured.NestedInt64(d.Object, "spec", "replicas")
		return n == 2
	})
	autoscale("batch.tutorial.kubebuilder.io/v1alpha1", "ImoocPod", 1, 2)
	cluster.AwaitConverged(t, ns, "foo", 2)
}

func deleteNode(t *testing.T, name string) {
	t.Helper()
	// The context of the test is already canceled during cleanup.
	err := cluster.Core.Nodes().Delete(context.Background(), name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}
