package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// nodeInformer watches the nodes, of which it keeps a small part.
func (c *Controller) nodeInformer() (cache.SharedIndexInformer, error) {
	nodes := c.core.Nodes()
	return c.informer(informerSource{
		resource: "nodes",
		list: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return nodes.List(ctx, opts)
		},
		watch: nodes.Watch,
	}, c.core, &corev1.Node{}, trimNode, nil, nil)
}

// trimNode keeps of a node what decides which pods it may run.
func trimNode(obj any) (any, error) {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil // a tombstone
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion, Labels: node.Labels},
		Spec:       corev1.NodeSpec{Taints: node.Spec.Taints},
	}, nil
}

// nodeList lists those of the cluster.
func (c *Controller) nodeList() []*corev1.Node {
	var list []*corev1.Node
	for _, obj := range c.nodes.informer.GetStore().List() {
		if node, ok := obj.(*corev1.Node); ok {
			list = append(list, node)
		}
	}
	return list
}

// nodeEvents puts all objects that have a pod per node into the queue when a
// node comes, goes, or changes in what decides who may run on it. That it is
// alive, it says all the time.
func (c *Controller) nodeEvents() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { c.enqueueAll(kinds.StrategyNodes) },
		UpdateFunc: func(old, obj any) {
			before, ok := old.(*corev1.Node)
			after, ok2 := obj.(*corev1.Node)
			if !ok || !ok2 || !equality.Semantic.DeepEqual(before.Labels, after.Labels) || !equality.Semantic.DeepEqual(before.Spec, after.Spec) {
				c.enqueueAll(kinds.StrategyNodes)
			}
		},
		DeleteFunc: func(any) { c.enqueueAll(kinds.StrategyNodes) },
	}
}

// enqueueAll puts all objects that are reconciled by a plan into the queue.
func (c *Controller) enqueueAll(plan kinds.Strategy) {
	for _, o := range c.kinds.by(plan) {
		store := o.getStore()
		if store == nil {
			continue
		}
		for _, obj := range store.List() {
			if u, ok := obj.(*unstructured.Unstructured); ok {
				c.wake(key{kind: o.kind.CRD(), namespace: u.GetNamespace(), name: u.GetName()}, "a node changed")
			}
		}
	}
}

// forNode makes a pod one that the scheduler puts on a node and nowhere else, and
// that stays there as a DaemonSet's does. Other demands of its template on nodes
// have been met by this one.
func forNode(pod *corev1.Pod, node string) {
	pod.Spec.Tolerations = plan.DaemonTolerations(pod.Spec)
	only := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
	}}}
	affinity := pod.Spec.Affinity.DeepCopy() // the template is everybody's
	if affinity == nil {
		affinity = &corev1.Affinity{}
	}
	if affinity.NodeAffinity == nil {
		affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = only
	pod.Spec.Affinity = affinity
}
