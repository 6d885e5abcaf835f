package main

import (
	"context"
	"fmt"
	"runtime"
)

// kwokNode is the annotation of the nodes that kwok simulates.
const kwokNode = "kwok.x-k8s.io/node"

// createNodes creates the nodes that kwok simulates. They are large enough for
// thousands of pods.
func createNodes(ctx context.Context, api *apiClient, count int) error {
	for i := range count {
		if err := api.create(ctx, "/api/v1/nodes", playedNode(fmt.Sprintf("node-%d", i))); err != nil {
			return fmt.Errorf("create a node: %w", err)
		}
	}
	return nil
}

func playedNode(name string) object {
	resources := object{"cpu": "1000", "memory": "4Ti", "pods": "5000"}
	return object{
		"apiVersion": "v1",
		"kind":       "Node",
		"metadata": object{
			"name": name,
			"labels": object{
				"kubernetes.io/arch":     runtime.GOARCH,
				"kubernetes.io/hostname": name,
				"kubernetes.io/os":       "linux",
			},
			"annotations": object{kwokNode: "fake"},
		},
		"status": object{
			"allocatable": resources,
			"capacity":    resources,
			"nodeInfo":    object{"architecture": runtime.GOARCH, "operatingSystem": "linux"},
		},
	}
}

// checkNodes returns an error about the first node to which pods cannot be
// scheduled, because it has a taint or is not ready.
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
