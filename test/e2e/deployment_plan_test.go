package e2e

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

func patchDeployment(t *testing.T, namespace, name, patch string, subresources ...string) {
	t.Helper()
	if _, err := cluster.Deployments(namespace).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...); err != nil {
		t.Fatal(err)
	}
}

func replicasOf(deployment *unstructured.Unstructured) int64 {
	n, _, _ := unstructured.NestedInt64(deployment.Object, "spec", "replicas")
	return n
}

// An object whose pods belong to a Deployment is created, scaled, restarted, and
// deleted, and its Deployment is modified by others. While the object is converged,
// nothing is reconciled or written.
func TestDeploymentPlan(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind       kinds.Kind
		spec       map[string]any
		deployment string
	}{
		{kinds.AppService(), map[string]any{"deploymentName": "web", "replicas": int64(2)}, "web"},
		{kinds.HelloWorld(), map[string]any{"size": int64(2)}, "foo"},
	} {
		t.Run(test.kind.Kind, func(t *testing.T) {
			t.Parallel()
			ns := cluster.NewNamespace(t)
			l := cluster.StartControllerFor(t, ns, []kinds.Kind{test.kind, kinds.ImoocPod()}, nil)
			foo := cluster.NewOwner(t, ns, test.kind, "foo", test.spec)
			foo.AwaitReady("two pods")
			deployment := foo.Deployment(test.deployment)
			if !foo.Owns(deployment) || replicasOf(deployment) != 2 {
				t.Fatalf("the Deployment is %s", toJSON(t, deployment.Object))
			}
			for _, pod := range foo.LivePods() {
				if pod.Labels[apis.LabelOwner] != string(foo.Get().GetUID()) || pod.Labels[test.kind.Mapping.NameLabel] != "foo" {
					t.Errorf("a pod has the labels %v", pod.Labels)
				}
			}
			for _, n := range []int{4, 1, 0, 2} {
				foo.Scale(n)
				foo.AwaitReady(fmt.Sprint(n, " pods"))
				if got := foo.Count(test.kind.Mapping.Status.Available); got != n || len(foo.LivePods()) != n {
					t.Errorf("%d pods are available of %d that are there, want %d", got, len(foo.LivePods()), n)
				}
			}

			// Fields that others set are kept, and fields of the controller are restored.
			patchDeployment(t, ns, test.deployment, `{"metadata":{"annotations":{"mine":"yes"}},"spec":{"revisionHistoryLimit":3}}`)
			patchDeployment(t, ns, test.deployment, `{"spec":{"replicas":5,"template":{"spec":{"containers":[{"name":"app","image":"other"}]}}}}`)
			harness.Eventually(t, "the Deployment is as foo wants it again", func() bool {
				d := foo.Deployment(test.deployment)
				containers, _, _ := unstructured.NestedSlice(d.Object, "spec", "template", "spec", "containers")
				history, _, _ := unstructured.NestedInt64(d.Object, "spec", "revisionHistoryLimit")
				return replicasOf(d) == 2 && len(containers) == 1 && below(containers[0], "image") == "nginx" &&
					d.GetAnnotations()["mine"] == "yes" && history == 3
			})
			foo.AwaitReady("as before")
			patchDeployment(t, ns, test.deployment, `{"metadata":{"labels":{"imoocpod.dev/owner-uid":null}}}`)
			harness.Eventually(t, "its label is back", func() bool {
				return foo.Deployment(test.deployment).GetLabels()[apis.LabelOwner] != ""
			})
			harness.Must(t, cluster.Kubectl(t, ns, "delete", "deployment", test.deployment))
			foo.AwaitReady("a Deployment instead of the one that was deleted")
			harness.Eventually(t, "the Deployment is replaced", func() bool {
				d := foo.Deployment(test.deployment)
				return d != nil && d.GetUID() != deployment.GetUID()
			})
			foo.AwaitReady("the new Deployment is available")

			// Restart the object, although its kind has no template that records a restart.
			before := foo.LivePods()
			foo.Patch(`{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"2026-01-01T00:00:00Z"}}}`)
			harness.Eventually(t, "the pods are replaced", func() bool {
				now := foo.LivePods()
				return len(now) == 2 && !slices.ContainsFunc(now, func(p corev1.Pod) bool {
					return p.Annotations[apis.AnnotationRestartedAt] == "" || slices.ContainsFunc(before, func(b corev1.Pod) bool { return b.UID == p.UID })
				})
			})
			foo.AwaitReady("restarted")
			if path := test.kind.Mapping.Status.PodNames; len(path) > 0 {
				harness.Eventually(t, "the names of the pods are listed", func() bool {
					var names []string
					for _, pod := range foo.LivePods() {
						names = append(names, pod.Name)
					}
					slices.Sort(names)
					told, _, _ := unstructured.NestedStringSlice(foo.Get().Object, path...)
					return reflect.DeepEqual(told, names)
				})
			}

			// I3 holds for events that change nothing, too.
			looks, writes := cluster.AwaitIdle(t, ns, l)
			foo.Patch(`{"metadata":{"annotations":{"a":"b"}}}`)
			patchDeployment(t, ns, test.deployment, `{"metadata":{"labels":{"a":"b"}}}`)
			patchDeployment(t, ns, test.deployment, `{"status":{"collisionCount":1}}`, "status")
			cluster.PatchPodStatus(t, ns, foo.LivePods()[0].Name, map[string]any{"message": "a heartbeat"})
			cluster.StaysIdle(t, ns, l, looks, writes)

			harness.Must(t, cluster.Kubectl(t, ns, "delete", test.kind.String(), "foo", "--cascade=foreground"))
			harness.Eventually(t, "the Deployment and its pods are gone", func() bool {
				return foo.Deployment(test.deployment) == nil && len(foo.LivePods()) == 0
			})
		})
	}
}

// A Deployment of another owner is reported and not touched, even if it appears between
// the controller's read and write. When it is gone, the controller creates its own.
func TestForeignDeployment(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"before", "between look and write"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			ns := cluster.NewNamespace(t)
			var foreign *unstructured.Unstructured
			create := func() {
				foreign = cluster.CreateObject(t, ns, "deployments.apps", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web},
					spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: busybox}]}}}}`)
			}
			var once sync.Once
			between := func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/deployments/web") {
					once.Do(create)
				}
				return next.RoundTrip(r)
			}
			if when == "before" {
				once.Do(create)
			}
			cluster.StartControllerFor(t, ns, []kinds.Kind{kinds.AppService()}, nil, between)
			foo := cluster.NewOwner(t, ns, kinds.AppService(), "foo", map[string]any{"deploymentName": "web", "replicas": int64(2)})
			harness.Eventually(t, "the condition names the owner", func() bool {
				c := foo.Condition(apis.ConditionReplicaFailure)
				return c.Status == metav1.ConditionTrue && c.Reason == "NameTaken" && strings.Contains(c.Message, "not owned by")
			})
			harness.Eventually(t, "an event reports it", func() bool {
				return strings.Contains(cluster.Events(t, ns, foo.Get().GetUID()), "Warning FailedCreate: Deployment web already exists and is not owned by this AppService")
			})
			now := foo.Deployment("web")
			if now.GetUID() != foreign.GetUID() || now.GetGeneration() != foreign.GetGeneration() || len(now.GetOwnerReferences()) > 0 ||
				!reflect.DeepEqual(now.GetLabels(), foreign.GetLabels()) {
				t.Errorf("the foreign Deployment was changed: %s", toJSON(t, now.Object))
			}
			for _, entry := range now.GetManagedFields() {
				if entry.Manager == kinds.FieldManager {
					t.Error("the foreign Deployment has one of our fields")
				}
			}
			harness.Must(t, cluster.Kubectl(t, ns, "delete", "deployment", "web"))
			foo.AwaitReady("the name is free")
			if !foo.Owns(foo.Deployment("web")) {
				t.Error("the Deployment is not foo's")
			}

			// Once its owner reference is removed, the Deployment is not foo's any
			// longer.
			patchDeployment(t, ns, "web", `{"metadata":{"ownerReferences":null}}`)
			harness.Eventually(t, "the orphan is reported", func() bool { return foo.Condition(apis.ConditionReplicaFailure).Reason == "NameTaken" })
			orphan := foo.Deployment("web")
			foo.Scale(3)
			harness.Eventually(t, "the scale is seen", func() bool { return foo.Condition(apis.ConditionReplicaFailure).Reason == "NameTaken" })
			if now := foo.Deployment("web"); now.GetGeneration() != orphan.GetGeneration() || len(now.GetOwnerReferences()) > 0 {
				t.Error("the orphan was touched")
			}
		})
	}
}

// If any write of a story fails in any way, a new controller ends with only the last
// requested Deployment.
func TestEveryCrashPointOfADeployment(t *testing.T) {
	t.Parallel()
	// The story writes the first Deployment, its count, the second Deployment, the
	// deletion of the first, and the count of the second.
	everyCrashPoint(t, 5, func(t *testing.T, k int64, way string) int64 {
		ns := cluster.NewNamespace(t)
		d := cluster.NewDriver(t, ns, nil)
		foo := cluster.NewOwner(t, ns, kinds.AppService(), "foo", map[string]any{"deploymentName": "web", "replicas": int64(0)})
		writes := startCrashing(t, ns, d, kinds.AppService(), k, way)
		foo.Scale(2)
		foo.AwaitReady("two pods")
		foo.Patch(`{"spec":{"deploymentName":"api","image":"other"}}`)
		harness.Eventually(t, "there is one Deployment, as wanted", func() bool {
			list, err := cluster.Deployments(ns).List(t.Context(), metav1.ListOptions{})
			return err == nil && len(list.Items) == 1 && list.Items[0].GetName() == "api" && replicasOf(&list.Items[0]) == 2
		})
		foo.AwaitReady("renamed")
		foo.Scale(0)
		foo.AwaitReady("no pods")
		d.Close()
		return writes.Load()
	})
}
