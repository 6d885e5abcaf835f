package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kwokNode is the annotation of the nodes that kwok simulates.
const kwokNode = "kwok.x-k8s.io/node"

// createNodes creates the nodes that kwok simulates, and the Node objects of the real nodes. The
// simulated nodes are large enough for thousands of pods.
//
// createNodes sets the addresses of real nodes, because a kubelet with an external cloud provider (see
// node.RunInside) keeps existing addresses. Without addresses, the API server would have to resolve the
// host name of the node. A kubelet that detects its own addresses rejects loopback addresses.
func (c *cluster) createNodes(ctx context.Context, simulated int) error {
	var nodes []*corev1.Node
	for i := range simulated {
		n := newNode(fmt.Sprintf("node-%d", i))
		n.Annotations = map[string]string{kwokNode: "fake"}
		n.Status.Capacity = corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("1000"),
			corev1.ResourceMemory: resource.MustParse("4Ti"),
			corev1.ResourcePods:   resource.MustParse("5000"),
		}
		n.Status.Allocatable = n.Status.Capacity
		n.Status.NodeInfo = corev1.NodeSystemInfo{Architecture: runtime.GOARCH, OperatingSystem: "linux"}
		nodes = append(nodes, n)
	}
	for _, r := range c.layout.realNodes() {
		n := newNode(r.name)
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: loopback}}
		nodes = append(nodes, n)
	}
	for _, n := range nodes {
		if _, err := c.core.Nodes().Create(ctx, n, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create a node: %w", err)
		}
	}
	return nil
}

func newNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelArchStable: runtime.GOARCH, corev1.LabelHostname: name, corev1.LabelOSStable: "linux",
	}}}
}

// checkNodes returns an error if any node has a taint or is not ready.
func (c *cluster) checkNodes(ctx context.Context) error {
	nodes, err := c.core.Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, node := range nodes.Items {
		if taints := node.Spec.Taints; len(taints) > 0 {
			return fmt.Errorf("node %s has the taint %s", node.Name, taints[0].Key)
		}
		ready := slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
			return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
		})
		if !ready {
			return fmt.Errorf("node %s is not ready", node.Name)
		}
	}
	return nil
}
