package node

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// TestLoopWithSlowPods scales 0 → 10 → 3, and restarts and deletes pods that terminate slowly or
// ignore SIGTERM. The number of unfinished pods must never exceed the larger of the old and the new
// replica count, and the next controller must complete the work of a killed controller.
func TestLoopWithSlowPods(t *testing.T) {
	const namespace, name = "slow", "foo"
	w, first := startIn(t, namespace)
	// After SIGTERM, one container exits immediately, one exits after two seconds, and one is
	// killed at the end of the grace period.
	owner := create(t, namespace, name, "", 0, `
terminationGracePeriodSeconds: 4
containers:
- {name: polite, command: [act, -http=:8080], `+whenReady+`}
- {name: slow, command: [act, -term-time=2s]}
- {name: deaf, command: [act, -ignore-term]}`).Get().GetUID()

	cluster.Imoocpod(t, namespace, "scale", name, "--replicas=10", patient)
	kept := names(w, owner)
	// Kill the controller while pods terminate.
	cluster.Imoocpod(t, namespace, "scale", name, "--replicas=3")
	w.await(t, "a pod is terminating", name, podTerminates)
	first.Kill()
	second := cluster.StartRunController(t, namespace)
	cluster.Imoocpod(t, namespace, "scale", name, "--replicas=3", patient)
	w.await(t, "three pods are left", name, exactly(3))
	if left := names(w, owner); !slices.Equal(left, kept[:3]) {
		t.Errorf("remaining pods = %s of %s, want those in the lowest slots", left, kept)
	}
	if most := w.MostLive(owner); most > 10 {
		t.Errorf("up to %d pods were live during the scales to 10 and to 3, want at most 10", most)
	}

	// A new pod starts only after the old pod has terminated. Kill the controller during the restart, too.
	w = watchNamespace(t, namespace)
	var old []types.UID
	for _, pod := range w.Owned(owner) {
		old = append(old, pod.UID)
	}
	cluster.Imoocpod(t, namespace, "restart", name)
	w.await(t, "a pod is terminating", name, podTerminates)
	second.Kill()
	cluster.StartRunController(t, namespace)
	w.await(t, "all pods are new", name, func(pods []*corev1.Pod, _ []*corev1.Event) bool {
		return exactly(3)(pods, nil) && !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return slices.Contains(old, pod.UID) })
	})
	cluster.Imoocpod(t, namespace, "wait", name, patient)
	if most := w.MostLive(owner); most > 3 {
		t.Errorf("up to %d pods were live during the restart of 3 pods, want at most 3", most)
	}

	cluster.Imoocpod(t, namespace, "delete", name)
	w.await(t, "no pod is left", name, exactly(0))
}

// names returns the sorted names of the pods of an owner.
func names(w *witness, owner types.UID) []string {
	var all []string
	for _, pod := range w.Owned(owner) {
		all = append(all, pod.Name)
	}
	slices.Sort(all)
	return all
}

// exactly returns a condition that is met if there are n pods and all of them are ready.
func exactly(n int) condition {
	return func(pods []*corev1.Pod, _ []*corev1.Event) bool {
		return len(pods) == n && !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return !isReady(pod) })
	}
}

// TestDeployedController deploys the controller from its image in a namespace that enforces the
// restricted Pod Security Standard. Its probes must succeed, and after the leader is deleted,
// another replica must take over.
func TestDeployedController(t *testing.T) {
	const namespace, app = "deployed", "app.kubernetes.io/name=imoocpod-controller"
	kubectl := func(args ...string) string {
		t.Helper()
		return harness.Must(t, cluster.Kubectl(t, namespace, args...))
	}
	newNamespace(t, namespace)
	harness.Must(t, cluster.Kubectl(t, "", "label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted"))
	kubectl("imoocpod", "install", "--controller", "--image="+controllerImage, "--replicas=2")
	rollout := func() {
		t.Helper()
		kubectl("rollout", "status", "deployment/imoocpod-controller", patient)
	}
	defer func() {
		if t.Failed() {
			t.Log(cluster.Kubectl(t, namespace, "get", "pods,leases,events", "-o", "wide"))
			t.Log(cluster.Kubectl(t, namespace, "logs", "-l", app, "--prefix", "--tail=30"))
		}
	}()
	rollout()
	kubectl("imoocpod", "create", "foo", "--replicas=2", "--wait", patient)

	holder := func() string {
		t.Helper()
		pods := strings.Fields(kubectl("get", "pods", "-l", app, "-o", "jsonpath={.items[*].metadata.name}"))
		leases := kubectl("get", "leases", "-o", "jsonpath={.items[*].spec.holderIdentity} {.items[*].metadata.annotations}")
		for _, pod := range pods {
			if strings.Contains(leases, pod) {
				return pod
			}
		}
		return ""
	}
	before := holder()
	if before == "" {
		t.Fatal("no pod of the controller holds a lease")
	}
	if err := cluster.Core.Pods(namespace).Delete(t.Context(), before, *metav1.NewDeleteOptions(0)); err != nil {
		t.Fatal(err)
	}
	kubectl("imoocpod", "scale", "foo", "--replicas=4", patient)
	rollout()
	// After a forced deletion, the process still runs for a short time, and can renew its lease.
	if !eventually(t, func() bool { return !slices.Contains([]string{"", before}, holder()) }) {
		t.Errorf("timed out waiting for a pod other than %s to acquire the lease", before)
	}
	// A failed liveness probe would have restarted a container.
	restarts := kubectl("get", "pods", "-l", app, "-o", "jsonpath={.items[*].status.containerStatuses[*].restartCount}")
	if strings.Trim(restarts, "0 ") != "" {
		t.Errorf("containers of the controller were restarted: restart counts %s, want 0", restarts)
	}
	kubectl("imoocpod", "delete", "foo")
}
