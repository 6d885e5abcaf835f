package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis/batch/v1alpha1"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// Finalizer is the finalizer that makes pods take their time to end.
const Finalizer = "e2e.imoocpod.dev/holder"

// NamespaceName returns a name that no other namespace of this test run has. It sorts behind
// those that it returned before.
func (c *Cluster) NamespaceName() string {
	return fmt.Sprintf("e2e-%s%03d", c.run, c.namespaces.Add(1))
}

// NewNamespace makes a namespace of the test's own, with the CRDs installed and
// ready for pods. It stays until the control plane goes: to delete one takes two
// requests for each type of resource that the server has.
func (c *Cluster) NewNamespace(t *testing.T) string {
	t.Helper()
	c.InstallCRDs(t)
	name := c.NamespaceName()
	_, err := c.Core.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	Eventually(t, "the default service account exists", func() bool {
		_, err := c.Core.ServiceAccounts(name).Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	})
	return name
}

// InstallCRDs installs the CRDs unless they are.
func (c *Cluster) InstallCRDs(t *testing.T) {
	t.Helper()
	c.installing.Lock()
	defer c.installing.Unlock()
	_, err := c.Dynamic.Resource(kinds.ImoocPod().Resource).List(t.Context(), metav1.ListOptions{Limit: 1})
	if apierrors.IsNotFound(err) {
		c.Imoocpod(t, "", "install")
	}
}

// Eventually waits for a condition. It asks less often what takes longer, as a question can
// be a whole command.
func Eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	defer cancel()
	interval := wait.Backoff{Duration: 20 * time.Millisecond, Factor: 1.25, Steps: 100, Cap: 200 * time.Millisecond}
	err := interval.DelayFunc().Until(ctx, true, true,
		func(context.Context) (bool, error) { return condition(), nil })
	if err != nil {
		t.Fatalf("waited in vain until %s: %v", what, err)
	}
}

// ImoocPod reads an ImoocPod.
func (c *Cluster) ImoocPod(t *testing.T, namespace, name string) *v1alpha1.ImoocPod {
	t.Helper()
	obj, err := c.Dynamic.Resource(kinds.ImoocPod().Resource).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var imp v1alpha1.ImoocPod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &imp); err != nil {
		t.Fatal(err)
	}
	return &imp
}

// PodsOf lists the pods whose controller is an ImoocPod, those that have ended left out.
func (c *Cluster) PodsOf(t *testing.T, namespace string, owner types.UID) []corev1.Pod {
	t.Helper()
	list, err := c.Core.Pods(namespace).List(t.Context(), metav1.ListOptions{})
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

// AwaitConverged waits until an ImoocPod has exactly n pods, all running and ready,
// and its status says so of its newest generation.
func (c *Cluster) AwaitConverged(t *testing.T, namespace, name string, n int) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%s has %d pods and says so", name, n), func() bool {
		imp := c.ImoocPod(t, namespace, name)
		pods := c.PodsOf(t, namespace, imp.UID)
		for _, pod := range pods {
			if pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil {
				return false
			}
		}
		s := imp.Status
		return len(pods) == n && s.ObservedGeneration == imp.Generation && int(s.Replicas) == n && int(s.ReadyReplicas) == n
	})
}

// Condition returns a condition of an ImoocPod, an empty one if it has none or
// there is no such object.
func Condition(imp *v1alpha1.ImoocPod, kind string) metav1.Condition {
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

// Apply sends a manifest through kubectl apply.
func (c *Cluster) Apply(t *testing.T, namespace, manifest string) {
	t.Helper()
	Must(t, c.Kubectl(t, namespace, "apply", "-f", WriteFile(t, manifest)))
}

// PatchPodStatus merges fields into the status of a pod, as a kubelet would.
func (c *Cluster) PatchPodStatus(t *testing.T, namespace, pod string, status map[string]any) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Core.Pods(namespace).Patch(t.Context(), pod, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
}

// Events lists the reasons and messages of the events of an object.
func (c *Cluster) Events(t *testing.T, namespace string, uid types.UID) string {
	t.Helper()
	list, err := c.Core.Events(namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(uid)})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range list.Items {
		fmt.Fprintf(&b, "%s %s: %s\n", e.Type, e.Reason, e.Message)
	}
	return b.String()
}

// Resource is the resource that plural.group names, in version v1.
func Resource(resource string) schema.GroupVersionResource {
	plural, group, _ := strings.Cut(resource, ".")
	return schema.GroupVersionResource{Group: group, Version: "v1", Resource: plural}
}

// CreateObject creates an object from a manifest, and returns it as it is stored.
func (c *Cluster) CreateObject(t *testing.T, namespace, resource, manifest string) *unstructured.Unstructured {
	t.Helper()
	made, err := c.Dynamic.Resource(Resource(resource)).Namespace(namespace).Create(t.Context(), Parse(t, manifest), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if namespace == "" {
		t.Cleanup(func() {
			if err := c.Dynamic.Resource(Resource(resource)).Delete(context.Background(), made.GetName(), metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	return made
}

// Parse reads a manifest.
func Parse(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}

// Object reads an object.
func (c *Cluster) Object(t *testing.T, namespace, resource, name string) *unstructured.Unstructured {
	t.Helper()
	obj, err := c.Dynamic.Resource(Resource(resource)).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// PatchFoo merges into the ImoocPod foo.
func (c *Cluster) PatchFoo(t *testing.T, namespace, patch string) {
	t.Helper()
	_, err := c.Dynamic.Resource(kinds.ImoocPod().Resource).Namespace(namespace).
		Patch(t.Context(), "foo", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// ImoocPodVersions are the resource versions of all ImoocPods of a namespace.
func (c *Cluster) ImoocPodVersions(t *testing.T, namespace string) map[string]string {
	t.Helper()
	list, err := c.Dynamic.Resource(kinds.ImoocPod().Resource).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, obj := range list.Items {
		versions[obj.GetName()] = obj.GetResourceVersion()
	}
	return versions
}

// ImoocPodManifest is the manifest of an ImoocPod; rest begins below metadata.
func ImoocPodManifest(name, rest string) string {
	return fmt.Sprintf("apiVersion: batch.tutorial.kubebuilder.io/v1alpha1\nkind: ImoocPod\nmetadata: {name: %s}\n%s\n", name, rest)
}

// SetFinalizers sets the finalizers of an ImoocPod, a list as JSON.
// setFinalizers makes an ImoocPod stay when it is deleted, or lets it go.
func (c *Cluster) SetFinalizers(t *testing.T, namespace, name, finalizers string) {
	t.Helper()
	_, err := c.Dynamic.Resource(kinds.ImoocPod().Resource).Namespace(namespace).Patch(t.Context(), name, types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"finalizers":%s}}`, finalizers), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// CRDs are the custom resource definitions of the cluster.
func (c *Cluster) CRDs() dynamic.ResourceInterface {
	return c.Dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
}

// NodeNames lists the nodes of the cluster, without those that a test keeps for
// itself (newNode).
func (c *Cluster) NodeNames(t *testing.T) []string {
	t.Helper()
	list, err := c.Core.Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: "!e2e/pool"})
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
