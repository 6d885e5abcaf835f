package harness

import (
	"encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// Owner is an object of any reconciled kind. It owns pods or a Deployment.
type Owner struct {
	Kind      kinds.Kind
	Namespace string
	Name      string

	t       *testing.T
	cluster *Cluster
}

// NewOwner creates an object of the given kind with the given spec.
func (c *Cluster) NewOwner(t *testing.T, namespace string, kind kinds.Kind, name string, spec map[string]any) *Owner {
	t.Helper()
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	obj.SetGroupVersionKind(kind.GroupVersionKind())
	obj.SetName(name)
	o := c.Owner(t, namespace, kind, name)
	if _, err := o.objects().Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return o
}

// Owner returns a handle for an object, which does not have to exist yet.
func (c *Cluster) Owner(t *testing.T, namespace string, kind kinds.Kind, name string) *Owner {
	return &Owner{t: t, cluster: c, Kind: kind, Namespace: namespace, Name: name}
}

func (o *Owner) objects() dynamic.ResourceInterface {
	return o.cluster.Dynamic.Resource(o.Kind.Resource).Namespace(o.Namespace)
}

// Get returns the object.
func (o *Owner) Get() *unstructured.Unstructured {
	o.t.Helper()
	obj, err := o.objects().Get(o.t.Context(), o.Name, metav1.GetOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
	return obj
}

// Patch applies a merge patch to the object.
func (o *Owner) Patch(format string, args ...any) {
	o.t.Helper()
	if _, err := o.objects().Patch(o.t.Context(), o.Name, types.MergePatchType, fmt.Appendf(nil, format, args...), metav1.PatchOptions{}); err != nil {
		o.t.Fatal(err)
	}
}

// Scale sets the replica count.
func (o *Owner) Scale(n int) {
	o.t.Helper()
	o.Set(int64(n), o.Kind.ReplicasPath...)
}

// Set sets one field.
func (o *Owner) Set(value any, path ...string) {
	o.t.Helper()
	fields := map[string]any{}
	if err := unstructured.SetNestedField(fields, value, path...); err != nil {
		o.t.Fatal(err)
	}
	text, err := json.Marshal(fields)
	if err != nil {
		o.t.Fatal(err)
	}
	o.Patch("%s", text)
}

func conditionsOf(obj *unstructured.Unstructured) []metav1.Condition {
	var holder struct {
		Status struct {
			ObservedGeneration int64              `json:"observedGeneration"`
			Conditions         []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &holder); err != nil {
		return nil
	}
	if holder.Status.ObservedGeneration != obj.GetGeneration() {
		return nil
	}
	return holder.Status.Conditions
}

// Condition returns a condition for the latest generation, or an empty condition.
func (o *Owner) Condition(kind string) metav1.Condition {
	if c := meta.FindStatusCondition(conditionsOf(o.Get()), kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// AwaitReady waits until the object reports that it is ready and not progressing, for its latest generation.
func (o *Owner) AwaitReady(what string) {
	o.t.Helper()
	Eventually(o.t, o.Name+" is ready ("+what+")", func() bool {
		conditions := conditionsOf(o.Get())
		return meta.IsStatusConditionTrue(conditions, "Ready") && meta.IsStatusConditionFalse(conditions, "Progressing")
	})
}

// Deployment returns a Deployment of the namespace, or nil if it cannot be read.
func (o *Owner) Deployment(name string) *unstructured.Unstructured {
	o.t.Helper()
	obj, err := o.cluster.Deployments(o.Namespace).Get(o.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return obj
}

// Deployments returns a client for the Deployments of a namespace.
func (c *Cluster) Deployments(namespace string) dynamic.ResourceInterface {
	return c.Dynamic.Resource(Resource("deployments.apps")).Namespace(namespace)
}

// Owns reports whether the owner is the controller of obj.
func (o *Owner) Owns(obj *unstructured.Unstructured) bool {
	ref := metav1.GetControllerOf(obj)
	return ref != nil && ref.UID == o.Get().GetUID()
}

// LivePods lists the pods of the namespace that are not terminating.
func (o *Owner) LivePods() []corev1.Pod {
	o.t.Helper()
	list, err := o.cluster.Core.Pods(o.Namespace).List(o.t.Context(), metav1.ListOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
	var live []corev1.Pod
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			live = append(live, pod)
		}
	}
	return live
}
