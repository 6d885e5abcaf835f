package observe

import (
	"context"
	"fmt"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/facts"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
)

// levels is how many kinds of objects are looked for between an object and its
// pods: a Deployment's ReplicaSet is one, an operator's StatefulSet another.
const levels = 4

// page is how many objects are read with one request, as kubectl does it.
const page = 500

// readTree reads what stands below a target into the snapshot: pods that may be
// its own, and the objects between. Which are its own, the controller references
// say.
func readTree(ctx context.Context, c *kube.Factory, t Target, e *status.Snapshot) error {
	if t.Kind.IsPod() {
		return addItself(t.Object, e)
	}
	selector := podSelector(t.Kind, t.Object)
	if ownPods(t.Kind) {
		pods, err := allPods(ctx, c, t.Namespace, selector)
		e.Pods = status.NewPods(pods)
		return err
	}
	client, err := c.Dynamic()
	if err != nil {
		return err
	}
	k := newOwnerKinds(c, client, t)
	var reading sync.WaitGroup
	reading.Go(func() { e.Children = k.walk(ctx) })
	pods, err := allPods(ctx, c, t.Namespace, selector)
	reading.Wait()
	e.Pods = status.NewPods(pods)
	if err == nil {
		readOwners(ctx, k, e)
	}
	return err
}

// addItself adds a pod that is the target: it is all that stands below it.
func addItself(obj *unstructured.Unstructured, e *status.Snapshot) error {
	var pod corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &pod); err != nil {
		return fmt.Errorf("read pod %s: %w", obj.GetName(), err)
	}
	e.Pods = status.NewPods([]corev1.Pod{pod})
	return nil
}

// allPods lists the pods of a namespace that a selector selects: never nil.
func allPods(ctx context.Context, c *kube.Factory, namespace, selector string) ([]corev1.Pod, error) {
	core, err := c.Core()
	if err != nil {
		return []corev1.Pod{}, err
	}
	selected := metav1.ListOptions{Limit: page, LabelSelector: selector}
	all := []corev1.Pod{}
	for {
		pods, err := core.Pods(namespace).List(ctx, selected)
		if err != nil {
			return all, err
		}
		for i := range pods.Items {
			trimPod(&pods.Items[i]) // of ten thousand, what nobody reads would be most of the memory
		}
		all = append(all, pods.Items...)
		if selected.Continue = pods.Continue; selected.Continue == "" {
			return all, nil
		}
	}
}

// ownPods reports whether the pods of a kind are made by this program, and bear a
// label by which they are found.
func ownPods(kind kinds.Kind) bool {
	// Objects of a kind that is declared may have pods of an earlier controller.
	return kind.Shipped() && kind.Mapping.Strategy.OwnsPods()
}

// podSelector selects the pods among which those of an object are: by the label of
// this program, or by the selector of a workload such as those of apps/v1, which
// release pods that it does not select. Otherwise they are found among all.
func podSelector(kind kinds.Kind, obj *unstructured.Unstructured) string {
	if ownPods(kind) {
		return apis.LabelOwner + "=" + string(obj.GetUID())
	}
	fields, _, err := unstructured.NestedMap(obj.Object, "spec", "selector")
	if err != nil || len(fields) == 0 {
		return ""
	}
	var selector metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(fields, &selector, true); err != nil {
		return ""
	}
	parsed, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil || parsed.Empty() {
		return ""
	}
	// Of another kind the field may be about something else.
	template, _, err := unstructured.NestedStringMap(obj.Object, "spec", "template", "metadata", "labels")
	if err != nil || !parsed.Matches(labels.Set(template)) {
		return ""
	}
	return parsed.String()
}

// childSelector selects the objects of a kind among which those of an object are. The
// ReplicaSets of a Deployment match its selector: it releases those that do not. Of
// others, nothing is known.
func childSelector(kind kinds.Kind, obj *unstructured.Unstructured, child schema.GroupVersionKind) string {
	if isDeployment(kind) && child == replicaSets() {
		return podSelector(kind, obj)
	}
	return ""
}

func isDeployment(kind kinds.Kind) bool {
	return kind.Resource == appsv1.SchemeGroupVersion.WithResource("deployments")
}

func replicaSets() schema.GroupVersionKind { return appsv1.SchemeGroupVersion.WithKind("ReplicaSet") }

// readOwners follows the controller references of pods upwards, up to the target. Where it
// has no pods, those who should make them are looked for.
func readOwners(ctx context.Context, k *ownerKinds, e *status.Snapshot) {
	k.add(e.Pods.OwnerKinds()...)
	e.Children = append(e.Children, k.walk(ctx)...)
	if !e.HasPods() {
		k.add(podMakers()...)
		e.Children = append(e.Children, k.walk(ctx)...)
	}
}

// ownerKinds are the kinds of the objects between targets and their pods.
type ownerKinds struct {
	clients *kube.Factory
	client  dynamic.Interface
	target  Target
	// seen are the kinds that were met, next those of them that are still to be read.
	seen map[schema.GroupVersionKind]bool
	next []schema.GroupVersionKind
}

// newOwnerKinds begins with the kinds that are read whoever the pods belong to.
func newOwnerKinds(c *kube.Factory, client dynamic.Interface, t Target) *ownerKinds {
	k := &ownerKinds{clients: c, client: client, target: t, seen: map[schema.GroupVersionKind]bool{t.Kind.GroupVersionKind(): true}}
	k.add(childKinds(t.Kind)...)
	return k
}

// childKinds are the kinds of children that objects of a kind are known to have, or may
// have. Of a kind of another program, a child without pods is seen by nothing but itself.
func childKinds(kind kinds.Kind) []schema.GroupVersionKind {
	switch {
	case !kind.Reconciled() && !kind.BuiltIn():
		return podMakers()
	case isDeployment(kind):
		return []schema.GroupVersionKind{replicaSets()}
	}
	return nil
}

func (k *ownerKinds) add(all ...schema.GroupVersionKind) {
	for _, gvk := range all {
		if !k.seen[gvk] {
			k.seen[gvk] = true
			k.next = append(k.next, gvk)
		}
	}
}

// podMakers are the kinds that make pods for others.
func podMakers() []schema.GroupVersionKind {
	apps := appsv1.SchemeGroupVersion
	return []schema.GroupVersionKind{replicaSets(), apps.WithKind("StatefulSet"), apps.WithKind("DaemonSet"), apps.WithKind("Deployment")}
}

// walk reads the kinds of a level at the same time, then those of the next level.
func (k *ownerKinds) walk(ctx context.Context) []status.Child {
	var found []status.Child
	for range levels {
		level := k.next
		k.next = nil
		lists := make([][]controlled, len(level))
		var reading sync.WaitGroup
		for i, gvk := range level {
			reading.Go(func() {
				var err error
				if lists[i], err = k.list(ctx, gvk); err != nil {
					// What cannot be read, of a kind that may have nothing to do with
					// the target, is left out.
					klog.FromContext(ctx).V(1).Info("Ignoring the owners of a kind", "kind", gvk, "err", err)
				}
			})
		}
		reading.Wait()
		for _, one := range slices.Concat(lists...) {
			k.add(schema.FromAPIVersionAndKind(one.by.APIVersion, one.by.Kind))
			found = append(found, one.child)
		}
	}
	return found
}

// controlled is an object that a controller reference leads on from.
type controlled struct {
	child status.Child
	by    *metav1.OwnerReference
}

// list lists the objects of a kind that have a controller.
func (k *ownerKinds) list(ctx context.Context, gvk schema.GroupVersionKind) ([]controlled, error) {
	objects, err := objectsOf(k.clients, k.client, gvk, k.target.Namespace)
	if err != nil {
		return nil, err
	}
	var all []controlled
	selected := metav1.ListOptions{Limit: page, LabelSelector: childSelector(k.target.Kind, k.target.Object, gvk)}
	for {
		list, err := objects.List(ctx, selected)
		if err != nil {
			return all, err
		}
		for i := range list.Items {
			if by := metav1.GetControllerOf(&list.Items[i]); by != nil {
				all = append(all, controlled{facts.Child(&list.Items[i]), by})
			}
		}
		if selected.Continue = list.GetContinue(); selected.Continue == "" {
			return all, nil
		}
	}
}

// objectsOf is the client for the objects of a kind in a namespace.
func objectsOf(c *kube.Factory, client dynamic.Interface, gvk schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	mapper, err := c.Flags.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	return client.Resource(mapping.Resource).Namespace(namespace), nil
}
