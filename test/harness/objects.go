package harness

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/apis/batch/v1alpha1"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// Finalizer is a finalizer that keeps deleted pods terminating until a test removes it.
const Finalizer = "e2e.imoocpod.dev/holder"

// NamespaceName returns a unique namespace name. Later names sort after earlier names.
func (c *Cluster) NamespaceName() string {
	return fmt.Sprintf("e2e-%s%03d", c.run, c.namespaces.Add(1))
}

// NewNamespace installs the CRDs, and creates a namespace that is ready for pods. NewNamespace does
// not delete it after the test, because this would take two requests for each resource type.
func (c *Cluster) NewNamespace(t *testing.T) string {
	t.Helper()
	name := c.NamespaceName()
	c.CreateNamespace(t, name)
	return name
}

// CreateNamespace is like NewNamespace, for a given name.
func (c *Cluster) CreateNamespace(t *testing.T, name string) {
	t.Helper()
	c.InstallCRDs(t)
	_, err := c.Core.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	Eventually(t, "the default service account exists", func() bool {
		_, err := c.Core.ServiceAccounts(name).Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	})
}

// InstallCRDs installs the CRDs if the CRD of ImoocPod is missing.
func (c *Cluster) InstallCRDs(t *testing.T) {
	t.Helper()
	c.installing.Lock()
	defer c.installing.Unlock()
	_, err := c.Dynamic.Resource(kinds.ImoocPod().Resource).List(t.Context(), metav1.ListOptions{Limit: 1})
	if apierrors.IsNotFound(err) {
		c.Imoocpod(t, "", "install")
	}
}

// Eventually waits until a condition is true. It polls at growing intervals, because a condition may run a command.
func Eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	defer cancel()
	interval := wait.Backoff{Duration: 20 * time.Millisecond, Factor: 1.25, Steps: 100, Cap: 200 * time.Millisecond}
	err := interval.DelayFunc().Until(ctx, true, true,
		func(context.Context) (bool, error) { return condition(), nil })
	if err != nil {
		t.Fatalf("timed out waiting until %s: %v", what, err)
	}
}

// ImoocPod reads an ImoocPod from the server. It must exist.
func (c *Cluster) ImoocPod(t *testing.T, namespace, name string) *v1alpha1.ImoocPod {
	t.Helper()
	obj, err := c.Dynamic.Resource(kinds.ImoocPod().Resource).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return As[v1alpha1.ImoocPod](t, obj)
}

// PodsOf lists the pods controlled by an ImoocPod.
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

// AwaitConverged waits until an ImoocPod has exactly n pods, all running and not terminating, and its
// status reports n ready pods for the latest generation. Each pod must also meet any given conditions.
func (c *Cluster) AwaitConverged(t *testing.T, namespace, name string, n int, each ...func(*corev1.Pod) bool) {
	t.Helper()
	var imp *v1alpha1.ImoocPod
	var pods []corev1.Pod
	defer func() {
		if t.Failed() {
			t.Logf("last state: %d pods, ImoocPod %+v", len(pods), imp)
		}
	}()
	Eventually(t, fmt.Sprintf("%s has %d pods, and its status reports them as ready", name, n), func() bool {
		imp = c.ImoocPod(t, namespace, name)
		pods = c.PodsOf(t, namespace, imp.UID)
		for _, pod := range pods {
			if pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil {
				return false
			}
			for _, meets := range each {
				if !meets(&pod) {
					return false
				}
			}
		}
		s := imp.Status
		return len(pods) == n && int(*imp.Spec.Replicas) == n && s.ObservedGeneration == imp.Generation &&
			int(s.Replicas) == n && int(s.ReadyReplicas) == n &&
			meta.IsStatusConditionTrue(s.Conditions, apis.ConditionReady) &&
			meta.IsStatusConditionFalse(s.Conditions, apis.ConditionProgressing)
	})
}

// Apply applies a manifest with kubectl.
func (c *Cluster) Apply(t *testing.T, namespace, manifest string) {
	t.Helper()
	// Add a separator, because older versions of kubectl parse YAML that begins with a brace as JSON.
	Must(t, c.Kubectl(t, namespace, "apply", "-f", WriteFile(t, "---\n"+manifest)))
}

// Resource converts a name such as "deployments.apps" to a resource in version v1.
func Resource(resource string) schema.GroupVersionResource {
	plural, group, _ := strings.Cut(resource, ".")
	return schema.GroupVersionResource{Group: group, Version: "v1", Resource: plural}
}

// CreateObject creates an object from a manifest, and returns the stored object. A cluster-scoped
// object is deleted when the test ends.
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

// Parse parses a manifest.
func Parse(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}

// Object reads an object from the server. It must exist.
func (c *Cluster) Object(t *testing.T, namespace, resource, name string) *unstructured.Unstructured {
	t.Helper()
	obj, err := c.Dynamic.Resource(Resource(resource)).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// CountImoocPods returns the number of ImoocPods in a namespace, or in all namespaces if namespace is "".
func (c *Cluster) CountImoocPods(t *testing.T, namespace string) int {
	t.Helper()
	list, err := c.Dynamic.Resource(kinds.ImoocPod().Resource).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return len(list.Items)
}

// ImoocPodManifest returns the manifest of an ImoocPod. rest is the YAML after the metadata.
func ImoocPodManifest(name, rest string) string {
	return fmt.Sprintf("apiVersion: batch.tutorial.kubebuilder.io/v1alpha1\nkind: ImoocPod\nmetadata: {name: %s}\n%s\n", name, rest)
}

// CRDs returns a client for CRDs.
func (c *Cluster) CRDs() dynamic.ResourceInterface {
	return c.Dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
}
