package main

import (
	"context"
	"fmt"
	"runtime"
)

// kwokNode is the annotation of the nodes that kwok simulates.
const kwokNode = "kwok.x-k8s.io/node"

// createNodes creates the nodes that kwok simulates, and the Node objects of the real nodes. The
// simulated nodes are large enough for thousands of pods.
//
// createNodes sets the addresses of real nodes, because a kubelet keeps the addresses of an existing
// Node object. On its own, the kubelet would reject a loopback address, and the API server would have
// to resolve the host name of the node.
func createNodes(ctx context.Context, api *apiClient, count int, realNodes []realNode) error {
	resources := object{"cpu": "1000", "memory": "4Ti", "pods": "5000"}
	for i := range count {
		if err := createNode(ctx, api, fmt.Sprintf("node-%d", i), object{kwokNode: "fake"}, object{
			"allocatable": resources,
			"capacity":    resources,
			"nodeInfo":    object{"architecture": runtime.GOARCH, "operatingSystem": "linux"},
		}); err != nil {
			return err
		}
	}
	for _, n := range realNodes {
		address := object{"type": "InternalIP", "address": loopback}
		if err := createNode(ctx, api, n.name, nil, object{"addresses": []any{address}}); err != nil {
			return err
		}
	}
	return nil
}

func createNode(ctx context.Context, api *apiClient, name string, annotations, status object) error {
	labels := object{"kubernetes.io/arch": runtime.GOARCH, "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
	err := api.create(ctx, "/api/v1/nodes", object{
		"apiVersion": "v1",
		"kind":       "Node",
		"metadata":   object{"name": name, "labels": labels, "annotations": annotations},
		"status":     status,
	})
	if err != nil {
		return fmt.Errorf("create a node: %w", err)
	}
	return nil
}

// checkNodes returns an error if any node has a taint or is not ready.
func checkNodes(ctx context.Context, api *apiClient) error {
	var nodes struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct{ Taints []struct{ Key string } }
			Status   struct {
				Conditions []struct{ Type, Status string }
			}
		}
	}
	if err := api.get(ctx, "/api/v1/nodes", &nodes); err != nil {
		return err
	}
	for _, node := range nodes.Items {
		if taints := node.Spec.Taints; len(taints) > 0 {
			return fmt.Errorf("node %s has the taint %s", node.Metadata.Name, taints[0].Key)
		}
		ready := false
		for _, condition := range node.Status.Conditions {
			ready = ready || condition.Type == "Ready" && condition.Status == "True"
		}
		if !ready {
			return fmt.Errorf("node %s is not ready", node.Metadata.Name)
		}
	}
	return nil
}
