package cmd

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// levels is how many kinds of objects are looked for between an object and its
// pods: a Deployment's ReplicaSet is one, an operator's StatefulSet another.
const levels = 4

// family reads what stands below a target: pods that may be its own, and into o
// the objects between. Which pods are its own, the controller references say.
func family(ctx context.Context, c *clients, t target, o *status.Object) ([]corev1.Pod, error) {
	core, err := c.core()
	if err != nil {
		return nil, err
	}
	selected := metav1.ListOptions{}
	if t.kind.Shipped() {
		selected.LabelSelector = apis.LabelOwner + "=" + string(o.UID)
	}
	pods, err := core.Pods(t.namespace).List(ctx, selected)
	if err != nil {
		return nil, err
	}
	if !t.kind.Shipped() {
		err = controllers(ctx, c, t, pods.Items, o)
	}
	return pods.Items, err
}

// controllers follows the controller references of pods upwards, a level of
// kinds at a time, up to the target's own kind.
func controllers(ctx context.Context, c *clients, t target, pods []corev1.Pod, o *status.Object) error {
	client, err := c.dynamic()
	if err != nil {
		return err
	}
	o.Between, o.Names = map[types.UID]types.UID{}, map[types.UID]string{}
	seen := map[schema.GroupVersionKind]bool{t.kind.GroupVersionKind(): true}
	next := map[schema.GroupVersionKind]bool{}
	follow := func(obj metav1.Object) {
		ref := metav1.GetControllerOfNoCopy(obj)
		if ref == nil {
			return
		}
		o.Between[obj.GetUID()], o.Names[ref.UID] = ref.UID, ref.Kind+"/"+ref.Name
		if gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind); !seen[gvk] {
			seen[gvk], next[gvk] = true, true
		}
	}
	for i := range pods {
		follow(&pods[i])
	}
	for range levels {
		kinds := next
		next = map[schema.GroupVersionKind]bool{}
		for gvk := range kinds {
			if err := eachOfKind(ctx, c, client, gvk, t.namespace, follow); err != nil {
				// What cannot be read, of a kind that may have nothing to do with
				// the target, is left out.
				klog.FromContext(ctx).V(1).Info("Controllers of a kind are left out", "kind", gvk, "err", err)
			}
		}
	}
	return nil
}

// eachOfKind lists the objects of a kind.
func eachOfKind(ctx context.Context, c *clients, client dynamic.Interface, gvk schema.GroupVersionKind, namespace string, do func(metav1.Object)) error {
	mapper, err := c.flags.ToRESTMapper()
	if err != nil {
		return err
	}
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return err
	}
	list, err := client.Resource(mapping.Resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		do(&list.Items[i])
	}
	return nil
}
