package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

// TestLoopWithPodsThatTakeTheirTime scales 0 → 10 → 3, and restarts and deletes pods that terminate
// slowly or ignore SIGTERM. The number of unfinished pods must never exceed the larger replica
// count, and the next controller must complete the work of a killed controller.
func TestLoopWithPodsThatTakeTheirTime(t *testing.T) {
	const namespace, name = "slow", "foo"
	kubectl(t, "", "create", "namespace", namespace)
	w := watchNamespace(t, namespace)
	first := startLoop(t, "-n", namespace)
	// One container exits immediately, one exits after a short time, and one is killed after its
	// grace period.
	kubectl(t, manifest(t, namespace, name, "", 0, "terminationGracePeriodSeconds: 4\ncontainers:\n"+
		"- {name: polite, command: "+act("-http=:8080")+", readinessProbe: {httpGet: {port: 8080, path: /ready}, periodSeconds: 1}}\n"+
		"- {name: slow, command: "+act("-term-time=2s")+"}\n"+
		"- {name: deaf, command: "+act("-ignore-term")+"}"), "create", "-f", "-")
	owner := types.UID(kubectl(t, "", "get", "imoocpod", name, "-n", namespace, "-o", "jsonpath={.metadata.uid}"))
	scale := func(replicas, most int) {
		t.Helper()
		w.forget(owner)
		kubectl(t, "", "imoocpod", "scale", name, "-n", namespace, fmt.Sprint("--replicas=", replicas), "--timeout="+deadline.String())
		if got := w.mostLive(owner); got > most {
			t.Errorf("up to %d pods were live on the way to %d", got, replicas)
		}
	}

	scale(10, 10)
	kept := names(w, name)
	// Kill the controller while seven pods terminate.
	kubectl(t, "", "imoocpod", "scale", name, "-n", namespace, "--replicas=3")
	w.await(t, "a pod ends", name, func(pods []*corev1.Pod, _ []*corev1.Event) bool {
		return slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil })
	})
	first.end(syscall.SIGKILL)
	second := startLoop(t, "-n", namespace)
	scale(3, 10)
	w.await(t, "three pods are left", name, exactly(3))
	if left := names(w, name); !slices.Equal(left, kept[:3]) {
		t.Errorf("pods %s of %s are left, want the lowest slots", left, kept)
	}

	// A new pod starts only after the old pod has terminated. Kill the controller during the restart, too.
	var old []types.UID
	pods, _ := w.podsOf(name)
	for _, pod := range pods {
		old = append(old, pod.UID)
	}
	w.forget(owner)
	kubectl(t, "", "imoocpod", "restart", name, "-n", namespace)
	w.await(t, "a pod ends", name, func(pods []*corev1.Pod, _ []*corev1.Event) bool {
		return slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil })
	})
	second.end(syscall.SIGKILL)
	startLoop(t, "-n", namespace)
	w.await(t, "all pods are new", name, func(pods []*corev1.Pod, _ []*corev1.Event) bool {
		return exactly(3)(pods, nil) && !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return slices.Contains(old, pod.UID) })
	})
	kubectl(t, "", "imoocpod", "wait", name, "-n", namespace, "--timeout="+deadline.String())
	if got := w.mostLive(owner); got > 3 {
		t.Errorf("up to %d pods were live during a restart of 3", got)
	}

	kubectl(t, "", "imoocpod", "delete", name, "-n", namespace)
	w.await(t, "no pod is left", name, exactly(0))
	kubectl(t, "", "delete", "namespace", namespace)
}

// names returns the sorted names of the pods of an object.
func names(w *witness, name string) []string {
	pods, _ := w.podsOf(name)
	var all []string
	for _, pod := range pods {
		all = append(all, pod.Name)
	}
	return all
}

// exactly returns a condition that is met if there are n pods and all of them are ready.
func exactly(n int) func([]*corev1.Pod, []*corev1.Event) bool {
	return func(pods []*corev1.Pod, _ []*corev1.Event) bool {
		return len(pods) == n && !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return !isReady(pod) })
	}
}

// TestDeployedController deploys the controller from its image in a namespace that enforces the
// restricted Pod Security Standard. Its probes must succeed, and after the leader is gone, the
// other replica must take over.
func TestDeployedController(t *testing.T) {
	const namespace, app = "deployed", "app.kubernetes.io/name=imoocpod-controller"
	kubectl(t, "", "create", "namespace", namespace)
	kubectl(t, "", "label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
	kubectl(t, "", "imoocpod", "install", "--controller", "-n", namespace, "--image="+controllerImage, "--replicas=2")
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(command("", "get", "pods,leases,events", "-n", namespace, "-o", "wide"))
			t.Log(command("", "logs", "-n", namespace, "-l", app, "--prefix", "--tail=30"))
		}
	})
	rollout := func() {
		t.Helper()
		kubectl(t, "", "rollout", "status", "deployment/imoocpod-controller", "-n", namespace, "--timeout="+deadline.String())
	}
	rollout()
	kubectl(t, "", "imoocpod", "create", "foo", "-n", namespace, "--replicas=2", "--wait", "--timeout="+deadline.String())

	holder := func() string {
		t.Helper()
		pods := strings.Fields(kubectl(t, "", "get", "pods", "-n", namespace, "-l", app, "-o", "jsonpath={.items[*].metadata.name}"))
		leases := kubectl(t, "", "get", "leases", "-n", namespace, "-o", "jsonpath={.items[*].spec.holderIdentity} {.items[*].metadata.annotations}")
		for _, pod := range pods {
			if strings.Contains(leases, pod) {
				return pod
			}
		}
		return ""
	}
	before := holder()
	if before == "" {
		t.Fatal("no pod has a lease")
	}
	if err := cluster.Core.Pods(namespace).Delete(t.Context(), before, *metav1.NewDeleteOptions(0)); err != nil {
		t.Fatal(err)
	}
	kubectl(t, "", "imoocpod", "scale", "foo", "-n", namespace, "--replicas=4", "--timeout="+deadline.String())
	rollout()
	// After a forced deletion, the process still runs for a short time, and can renew its lease.
	err := wait.PollUntilContextTimeout(t.Context(), time.Second, deadline, true, func(context.Context) (bool, error) {
		after := holder()
		return after != "" && after != before, nil
	})
	if err != nil {
		t.Errorf("%v: no other pod than %s has the lease", err, before)
	}
	// A failed probe would have restarted a container.
	restarts := kubectl(t, "", "get", "pods", "-n", namespace, "-l", app, "-o", "jsonpath={.items[*].status.containerStatuses[*].restartCount}")
	if strings.Trim(restarts, "0 ") != "" {
		t.Errorf("replicas of the controller were restarted: %s", restarts)
	}
	kubectl(t, "", "imoocpod", "delete", "foo", "-n", namespace)
	kubectl(t, "", "delete", "namespace", namespace)
}
