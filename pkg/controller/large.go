package controller

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// maxCached is the maximum size in bytes of an object to cache, without the fields that trimOwner drops. The cache
// holds only an outline of a larger object, and each reconcile reads that object from the server.
const maxCached = 32 << 10

// isOutline reports whether an object is an outline. Only an outline has no creation time.
func isOutline(obj *unstructured.Unstructured) bool { return obj.GetCreationTimestamp().Time.IsZero() }

// trimOwner returns a function that drops the managed fields, drops the annotations that no plan reads, and replaces a
// large object with its outline. This limits the memory for each object.
func trimOwner(kind kinds.Kind) func(*unstructured.Unstructured) any {
	return func(u *unstructured.Unstructured) any {
		if isOutline(u) {
			return u // client-go transforms the objects of a streamed list twice
		}
		u.SetManagedFields(nil)
		u.SetAnnotations(plannedAnnotations(u))
		if strategy.Size(u.Object) <= maxCached {
			return u
		}
		return outline(kind, u)
	}
}

// plannedAnnotations returns only the annotations that plans read.
func plannedAnnotations(obj *unstructured.Unstructured) map[string]string {
	planned := map[string]string{}
	for _, name := range []string{apis.AnnotationRestartedAt, apis.AnnotationPausedUntil, apis.AnnotationPausedBy, apis.AnnotationPausedReason} {
		if value, ok := obj.GetAnnotations()[name]; ok {
			planned[name] = value
		}
	}
	if removed := removedSlots(obj); removed != "" {
		planned[apis.AnnotationRemovedSlots] = removed
	}
	return planned
}

// outline returns the parts of an object that identify it and show whether it has changed.
func outline(kind kinds.Kind, obj *unstructured.Unstructured) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(obj.GroupVersionKind())
	o.SetNamespace(obj.GetNamespace())
	o.SetName(obj.GetName())
	o.SetUID(obj.GetUID())
	o.SetResourceVersion(obj.GetResourceVersion())
	o.SetGeneration(obj.GetGeneration())
	o.SetDeletionTimestamp(obj.GetDeletionTimestamp())
	o.SetAnnotations(plannedAnnotations(obj))
	at := kind.Mapping.Status
	// This cannot fail, because o has no status yet, and none of the kind's status paths is a prefix of another.
	o.Object["status"], _ = strategy.EncodeStatus(at, strategy.DecodeStatus(at, obj), o)
	return o
}
