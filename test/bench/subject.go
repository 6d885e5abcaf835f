package main

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// subject is a way to create a number of pods.
type subject struct {
	name string
	// agent is the prefix of the subject's user agent.
	agent string
	// resource, kind, and namespace identify the owners of the pods.
	resource  schema.GroupVersionResource
	kind      string
	namespace string
	// program returns a command that reconciles the owner, and serves metrics at an address if it
	// can. If program is nil, this process sends the requests.
	program     func(ctx context.Context, metrics string) *exec.Cmd
	concurrency int
}

// The names of the subjects that compareScaling compares.
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
		resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, kind: "ConfigMap", namespace: namespace,
	}
}

// builtIn returns the subject for a kind in the group apps. Its program is a built-in controller with extra arguments.
func (b *bench) builtIn(name, kind, controller string, args ...string) subject {
	return subject{
		name: name, agent: "kube-controller-manager/", kind: kind, namespace: namespace,
		resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: strings.ToLower(kind) + "s"},
		program: func(ctx context.Context, _ string) *exec.Cmd {
			return b.command(ctx, "kube-controller-manager", append([]string{
				"--kubeconfig=" + b.kubeconfig, "--controllers=" + controller,
				"--leader-elect=false", "--secure-port=0", "--profiling=false",
			}, args...)...)
		},
	}
}

// unlimited is like builtIn, but without rate limits.
func (b *bench) unlimited(name, kind, controller string) subject {
	return b.builtIn(name, kind, controller, "--kube-api-qps=100000", "--kube-api-burst=100000")
}

func (b *bench) shipped() subject {
	return b.builtIn(nameShipped, "ReplicaSet", "replicaset-controller")
}

func (b *bench) lifted() subject {
	return b.unlimited(nameLifted, "ReplicaSet", "replicaset-controller")
}

// deployment returns the subject for Deployments. Its program is the ReplicaSet controller without rate limits. The
// control plane runs the Deployment controller.
func (b *bench) deployment() subject {
	return b.unlimited("Deployment", "Deployment", "replicaset-controller")
}

// ours returns the subject for ImoocPods. Its program is this project's controller with extra arguments.
func (b *bench) ours(args ...string) subject {
	return subject{
		name: nameOurs, agent: "kubectl-imoocpod/", resource: imoocPods(), kind: "ImoocPod", namespace: namespace,
		program: func(ctx context.Context, metrics string) *exec.Cmd {
			return b.command(ctx, b.plugin, append([]string{"run-controller", "--metrics-bind-address=" + metrics}, args...)...)
		},
	}
}

// oursIn creates a namespace, and returns the subject for ImoocPods, restricted to that namespace.
func (b *bench) oursIn(ctx context.Context, namespace string) subject {
	b.makeNamespaces(ctx, namespace)
	return b.ours("-n", namespace).in(namespace)
}

// in returns a copy of the subject whose owners are in a namespace.
func (s subject) in(namespace string) subject {
	s.namespace = namespace
	return s
}

func imoocPods() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "batch.tutorial.kubebuilder.io", Version: "v1alpha1", Resource: "imoocpods"}
}

// object returns an object of the subject's kind, without a spec.
func (s subject) object(name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(s.resource.GroupVersion().WithKind(s.kind))
	object.SetName(name)
	return object
}

// owner returns the owner of the pods of a run. It is named after the run.
func (s subject) owner(run string, replicas int) *unstructured.Unstructured {
	object := s.object(run)
	spec := map[string]any{"replicas": int64(replicas), "template": podTemplate(run)}
	if s.resource.Group != imoocPods().Group {
		spec["selector"] = map[string]any{"matchLabels": map[string]any{runLabel: run}}
	}
	if s.kind == rolloutKind {
		spec["strategy"] = map[string]any{"canary": map[string]any{}}
	}
	if s.kind != "ConfigMap" {
		object.Object["spec"] = spec
	}
	return object
}

// runLabel is the label that identifies the pods of a run.
const runLabel = "run"

func podTemplate(run string) map[string]any {
	container := map[string]any{"name": "sleep", "image": "busybox", "command": []any{"sleep", "3600"}}
	return map[string]any{
		"metadata": map[string]any{"labels": map[string]any{runLabel: run}},
		"spec": map[string]any{
			"terminationGracePeriodSeconds": int64(1),
			"automountServiceAccountToken":  false,
			"containers":                    []any{container},
		},
	}
}

// podOf returns an unnamed pod from the template of a run. If owner is not nil, it controls the pod.
func podOf(run string, owner *unstructured.Unstructured) *corev1.Pod {
	pod := &corev1.Pod{}
	check(json.Unmarshal(must(json.Marshal(podTemplate(run))), pod))
	if owner != nil {
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())}
	}
	return pod
}
