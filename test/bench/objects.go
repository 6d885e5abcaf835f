package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// atOnce is the number of concurrent requests that prepare a measurement.
const atOnce = 16

func (b *bench) objects(s subject) dynamic.ResourceInterface {
	return b.account.dynamic.Resource(s.resource).Namespace(s.namespace)
}

func (b *bench) create(ctx context.Context, s subject, object *unstructured.Unstructured) *unstructured.Unstructured {
	return must(b.objects(s).Create(ctx, object, metav1.CreateOptions{}))
}

// makeObjects creates n numbered objects named after the run, with the given number of pods each.
func (b *bench) makeObjects(ctx context.Context, s subject, run string, n, pods int) {
	parallel(atOnce, n, func(i int) {
		object := s.owner(run, pods)
		object.SetName(fmt.Sprintf("%s-%d", run, i))
		b.create(ctx, s, object)
	})
}

func (b *bench) patch(ctx context.Context, s subject, name, patch string, subresources ...string) {
	must(b.objects(s).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...))
}

func (b *bench) setReplicas(ctx context.Context, s subject, name string, n int) {
	b.patch(ctx, s, name, fmt.Sprintf(`{"spec":{"replicas":%d}}`, n))
}

func (b *bench) delete(ctx context.Context, s subject, name string) {
	check(b.objects(s).Delete(ctx, name, metav1.DeleteOptions{}))
}

// createPods creates n pods of a run with concurrent requests. If owner is not nil, it controls the pods.
func (b *bench) createPods(ctx context.Context, concurrency int, run string, owner *unstructured.Unstructured, n int) {
	pod := podOf(run, owner)
	parallel(concurrency, n, func(i int) {
		one := pod.DeepCopy()
		one.Name = fmt.Sprintf("%s-%d", run, i)
		must(b.account.core.Pods(namespace).Create(ctx, one, metav1.CreateOptions{}))
	})
}

// makeNamespaces creates namespaces, and waits for their default service accounts, so that pods can be created.
func (b *bench) makeNamespaces(ctx context.Context, names ...string) {
	parallel(atOnce, len(names), func(i int) {
		one := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: names[i]}}
		must(b.witness.core.Namespaces().Create(ctx, one, metav1.CreateOptions{}))
	})
	for _, name := range names {
		await(ctx, 100*time.Millisecond, "pods can be created in "+name, func() bool {
			_, err := b.witness.core.ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
			return err == nil
		})
	}
}

// makeKind creates the CRD of a subject, and waits until its objects are served. Their spec has the
// given fields and a replica count.
func (b *bench) makeKind(ctx context.Context, s subject, annotations, subresources, fields map[string]any) {
	count := map[string]any{"type": "integer", "format": "int32", "minimum": int64(0)}
	subresources["status"], fields["replicas"] = map[string]any{}, count
	status := map[string]any{"replicas": count, "readyReplicas": count, "observedGeneration": count}
	properties := func(of map[string]any) map[string]any { return map[string]any{"type": "object", "properties": of} }
	schemaOf := properties(map[string]any{"spec": properties(fields), "status": properties(status)})
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": s.resource.GroupResource().String(), "annotations": annotations},
		"spec": map[string]any{
			"group": s.resource.Group, "scope": "Namespaced",
			"names": map[string]any{"kind": s.kind, "plural": s.resource.Resource, "singular": strings.ToLower(s.kind)},
			"versions": []any{map[string]any{
				"name": s.resource.Version, "served": true, "storage": true, "subresources": subresources,
				"schema": map[string]any{"openAPIV3Schema": schemaOf},
			}},
		},
	}}
	crds := schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	}
	must(b.account.dynamic.Resource(crds).Create(ctx, crd, metav1.CreateOptions{}))
	b.untilServed(ctx, s)
}

func (b *bench) untilServed(ctx context.Context, s subject) {
	await(ctx, 50*time.Millisecond, s.kind+"s are served", func() bool {
		_, err := b.objects(s).List(ctx, metav1.ListOptions{Limit: 1})
		return err == nil
	})
}

// declared returns the subject for the declared kind with number i.
func (b *bench) declared(i int, namespace string) subject {
	s := b.ours("--declared-kinds").in(namespace)
	s.kind = fmt.Sprintf("Limit%d", i)
	s.resource = schema.GroupVersionResource{
		Group: "limits.example.com", Version: "v1", Resource: fmt.Sprintf("limit%ds", i),
	}
	return s
}

// declareKinds declares n kinds, and waits until they are served. The run label of a pod is the name of its owner.
func (b *bench) declareKinds(ctx context.Context, n int) {
	parallel(atOnce, n, func(i int) {
		b.makeKind(ctx, b.declared(i, namespace), map[string]any{
			"imoocpod.dev/plan": "pods", "imoocpod.dev/image": "nginx", "imoocpod.dev/name-label": runLabel,
		}, map[string]any{}, map[string]any{})
	})
}

// makeDeclared creates an object of a declared kind, with one pod.
func (b *bench) makeDeclared(ctx context.Context, kind int, namespace, name string) {
	s := b.declared(kind, namespace)
	object := s.object(name)
	object.Object["spec"] = map[string]any{"replicas": int64(1)}
	b.create(ctx, s, object)
}
