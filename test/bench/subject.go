package main

import (
	"context"
	"fmt"
	"net"
	"os/exec"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// subject is a way to create a number of pods.
type subject struct {
	name string
	// agent is the prefix of its user agent.
	agent string
	// resource and kind identify the owner of the pods.
	resource   schema.GroupVersionResource
	apiVersion string
	kind       string
	// program returns a command that reconciles the owner, and serves metrics at an
	// address if it can. If program is nil, this process sends the requests.
	program     func(ctx context.Context, metrics string) *exec.Cmd
	concurrency int
}

// The names of the subjects in the report.
const (
	nameFloor   = "raw requests"
	nameShipped = "ReplicaSet as shipped"
	nameLifted  = "ReplicaSet, limits lifted"
	nameOurs    = "ImoocPod"
)

// raw returns a subject that sends concurrent requests from this process.
func raw(concurrency int) subject {
	return subject{
		name: nameFloor, agent: "bench", concurrency: concurrency,
		resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, apiVersion: "v1", kind: "ConfigMap",
	}
}

// replicaSet returns the ReplicaSet controller with extra arguments.
func (b *bench) replicaSet(name string, args ...string) subject {
	s := b.controllerManager(name, "replicaset-controller", args...)
	s.resource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
	s.kind = "ReplicaSet"
	return s
}

// controllerManager returns a built-in controller for the group apps with extra
// arguments. The caller must set the fields resource and kind.
func (b *bench) controllerManager(name, controller string, args ...string) subject {
	return subject{
		name: name, agent: "kube-controller-manager/", apiVersion: "apps/v1",
		program: func(ctx context.Context, _ string) *exec.Cmd {
			return b.command(ctx, "kube-controller-manager", append([]string{
				"--kubeconfig=" + b.kubeconfig, "--controllers=" + controller,
				"--leader-elect=false", "--secure-port=0", "--profiling=false",
			}, args...)...)
		},
	}
}

func (b *bench) shipped() subject { return b.replicaSet(nameShipped) }

func (b *bench) lifted() subject {
	return b.replicaSet(nameLifted, "--kube-api-qps=100000", "--kube-api-burst=100000")
}

// ours returns the loop of this project with extra arguments.
func (b *bench) ours(args ...string) subject {
	return subject{
		name: nameOurs, agent: "kubectl-imoocpod/",
		resource:   imoocPods(),
		apiVersion: imoocPods().GroupVersion().String(), kind: "ImoocPod",
		program: func(ctx context.Context, metrics string) *exec.Cmd {
			return b.command(ctx, b.plugin, append([]string{"run-controller", "--metrics-bind-address=" + metrics}, args...)...)
		},
	}
}

func imoocPods() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "batch.tutorial.kubebuilder.io", Version: "v1alpha1", Resource: "imoocpods"}
}

// owner returns the owner of the pods of a run.
func (s subject) owner(run string, replicas int) map[string]any {
	object := map[string]any{
		"apiVersion": s.apiVersion, "kind": s.kind,
		"metadata": map[string]any{"name": run},
	}
	switch {
	case s.resource.Resource == "configmaps":
	case s.resource.Group != imoocPods().Group:
		spec := map[string]any{"replicas": int64(replicas), "template": podTemplate(run),
			"selector": map[string]any{"matchLabels": map[string]any{runLabel: run}}}
		if s.kind == rolloutKind {
			spec["strategy"] = map[string]any{"canary": map[string]any{}}
		}
		object["spec"] = spec
	default:
		object["spec"] = map[string]any{"replicas": int64(replicas), "template": podTemplate(run)}
	}
	return object
}

// freeAddress returns a free address on this machine.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}
