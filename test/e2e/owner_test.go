package e2e

import (
	"context"
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

// owner is an object of any kind that a loop reconciles.
type owner struct {
	t         *testing.T
	kind      kinds.Kind
	namespace string
	name      string
}

// newOwner makes an object of a kind with a spec.
func newOwner(t *testing.T, namespace string, kind kinds.Kind, name string, spec map[string]any) *owner {
	t.Helper()
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	obj.SetGroupVersionKind(kind.GroupVersionKind())
	obj.SetName(name)
	o := &owner{t: t, kind: kind, namespace: namespace, name: name}
	if _, err := o.objects().Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *owner) objects() dynamic.ResourceInterface {
	return cluster.dynamic.Resource(o.kind.Resource).Namespace(o.namespace)
}

func (o *owner) get() *unstructured.Unstructured {
	o.t.Helper()
	obj, err := o.objects().Get(o.t.Context(), o.name, metav1.GetOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
	return obj
}

// patch merges fields into the object.
func (o *owner) patch(format string, args ...any) {
	o.t.Helper()
	if _, err := o.objects().Patch(o.t.Context(), o.name, types.MergePatchType, fmt.Appendf(nil, format, args...), metav1.PatchOptions{}); err != nil {
		o.t.Fatal(err)
	}
}

// scale sets the desired count.
func (o *owner) scale(n int) {
	o.t.Helper()
	fields := map[string]any{}
	if err := unstructured.SetNestedField(fields, int64(n), o.kind.ReplicasPath...); err != nil {
		o.t.Fatal(err)
	}
	text, err := json.Marshal(fields)
	if err != nil {
		o.t.Fatal(err)
	}
	o.patch("%s", text)
}

// count reads a number of the status, -1 where there is none.
func (o *owner) count(path []string) int {
	n, found, err := unstructured.NestedInt64(o.get().Object, path...)
	if err != nil || !found {
		return -1
	}
	return int(n)
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

// condition returns a condition of the object's newest generation.
func (o *owner) condition(kind string) metav1.Condition {
	if c := meta.FindStatusCondition(conditionsOf(o.get()), kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// ready waits until the object says that all is as wanted, and of its newest
// generation.
func (o *owner) ready(what string) {
	o.t.Helper()
	eventually(o.t, o.name+" is ready: "+what, func() bool {
		conditions := conditionsOf(o.get())
		return meta.IsStatusConditionTrue(conditions, "Ready") && meta.IsStatusConditionFalse(conditions, "Progressing")
	})
}

// deployment returns a Deployment of the namespace, nil if there is none.
func (o *owner) deployment(name string) *unstructured.Unstructured {
	o.t.Helper()
	obj, err := deploymentsIn(o.namespace).Get(o.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return obj
}

func deploymentsIn(namespace string) dynamic.ResourceInterface {
	return cluster.dynamic.Resource(resourceOf("deployments.apps")).Namespace(namespace)
}

// owned says whether the object controls another.
func (o *owner) owns(obj *unstructured.Unstructured) bool {
	ref := metav1.GetControllerOf(obj)
	return ref != nil && ref.UID == o.get().GetUID()
}

// livePods lists the pods of the namespace that are not on their way out.
func (o *owner) livePods() []corev1.Pod {
	o.t.Helper()
	list, err := cluster.core.Pods(o.namespace).List(o.t.Context(), metav1.ListOptions{})
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

// installKind installs a CRD that only some tests know, from its YAML, and
// removes it when the test ends.
func installKind(t *testing.T, kind kinds.Kind, crd string) {
	t.Helper()
	must(t, kubectl(t, "", "apply", "-f", writeFile(t, crd)))
	t.Cleanup(func() {
		err := cluster.dynamic.Resource(resourceOf("customresourcedefinitions.apiextensions.k8s.io")).
			Delete(context.Background(), kind.CRD(), metav1.DeleteOptions{})
		if err != nil {
			t.Error(err)
		}
	})
	must(t, kubectl(t, "", "wait", "--for=condition=Established", "--timeout=2m", "crd/"+kind.CRD()))
	eventually(t, "the kind is served", func() bool {
		_, err := cluster.dynamic.Resource(kind.Resource).List(t.Context(), metav1.ListOptions{Limit: 1})
		return err == nil
	})
}
