package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis/batch/v1alpha1"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

var namespaces atomic.Int32

// newNamespace makes a namespace of the test's own, with the CRDs installed and
// ready for pods. It stays until the control plane goes: to delete one takes two
// requests for each type of resource that the server has.
func newNamespace(t *testing.T) string {
	t.Helper()
	installOnce(t)
	name := fmt.Sprintf("e2e-%d", namespaces.Add(1))
	_, err := cluster.core.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the default service account exists", func() bool {
		_, err := cluster.core.ServiceAccounts(name).Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	})
	return name
}

var installing sync.Mutex

// installOnce installs the CRDs unless they are.
func installOnce(t *testing.T) {
	t.Helper()
	installing.Lock()
	defer installing.Unlock()
	_, err := cluster.dynamic.Resource(kinds.ImoocPod().Resource).List(t.Context(), metav1.ListOptions{Limit: 1})
	if apierrors.IsNotFound(err) {
		imoocpod(t, "", "install")
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, deadline, true,
		func(context.Context) (bool, error) { return condition(), nil })
	if err != nil {
		t.Fatalf("waited in vain until %s: %v", what, err)
	}
}

// getImoocPod reads an ImoocPod.
func getImoocPod(t *testing.T, namespace, name string) *v1alpha1.ImoocPod {
	t.Helper()
	obj, err := cluster.dynamic.Resource(kinds.ImoocPod().Resource).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var imp v1alpha1.ImoocPod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &imp); err != nil {
		t.Fatal(err)
	}
	return &imp
}

// podsOf lists the pods whose controller is an ImoocPod, those that have ended left out.
func podsOf(t *testing.T, namespace string, owner types.UID) []corev1.Pod {
	t.Helper()
	list, err := cluster.core.Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var owned []corev1.Pod
	for _, pod := range list.Items {
		if ref := metav1.GetControllerOf(&pod); ref != nil && ref.UID == owner {
			owned = append(owned, pod)
		}
	}
	return owned
}

// converged waits until an ImoocPod has exactly n pods, all running and ready,
// and its status says so of its newest generation.
func converged(t *testing.T, namespace, name string, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s has %d pods and says so", name, n), func() bool {
		imp := getImoocPod(t, namespace, name)
		pods := podsOf(t, namespace, imp.UID)
		for _, pod := range pods {
			if pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil {
				return false
			}
		}
		s := imp.Status
		return len(pods) == n && s.ObservedGeneration == imp.Generation && int(s.Replicas) == n && int(s.ReadyReplicas) == n
	})
}

// condition returns a condition of an ImoocPod, an empty one if it has none or
// there is no such object.
func condition(imp *v1alpha1.ImoocPod, kind string) metav1.Condition {
	if imp == nil {
		return metav1.Condition{}
	}
	for _, c := range imp.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{}
}

// apply sends a manifest through kubectl apply.
func apply(t *testing.T, namespace, manifest string) {
	t.Helper()
	must(t, kubectl(t, namespace, "apply", "-f", writeFile(t, manifest)))
}

// patchStatus merges fields into the status of a pod, as a kubelet would.
func patchPodStatus(t *testing.T, namespace, pod string, status map[string]any) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		t.Fatal(err)
	}
	_, err = cluster.core.Pods(namespace).Patch(t.Context(), pod, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
}

// events lists the reasons and messages of the events of an object.
func events(t *testing.T, namespace string, uid types.UID) string {
	t.Helper()
	list, err := cluster.core.Events(namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(uid)})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range list.Items {
		fmt.Fprintf(&b, "%s %s: %s\n", e.Type, e.Reason, e.Message)
	}
	return b.String()
}
