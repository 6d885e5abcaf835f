package controller

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// maxCached is how large an object may be to be cached whole, in bytes. Of a
// larger one the cache holds an outline, and each reconcile reads the object.
const maxCached = 32 << 10

// annotationOutline marks an outline. It is in the cache alone.
const annotationOutline = apis.Prefix + "outline"

// trimOwner drops what no plan reads and what is most of a small object, and
// nearly all of a large one.
func trimOwner(kind kinds.Kind) func(any) (any, error) {
	return func(obj any) (any, error) {
		u, ok := obj.(*unstructured.Unstructured)
		if !ok {
			return obj, nil // a tombstone
		}
		u.SetManagedFields(nil)
		if strategy.Size(u.Object, maxCached) <= maxCached {
			return u, nil
		}
		return outline(kind, u)
	}
}

// outline keeps of an object what tells that it changed, and by what it is found.
func outline(kind kinds.Kind, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetAPIVersion(obj.GetAPIVersion())
	o.SetKind(obj.GetKind())
	o.SetNamespace(obj.GetNamespace())
	o.SetName(obj.GetName())
	o.SetUID(obj.GetUID())
	o.SetResourceVersion(obj.GetResourceVersion())
	o.SetGeneration(obj.GetGeneration())
	o.SetDeletionTimestamp(obj.GetDeletionTimestamp())
	annotations := map[string]string{annotationOutline: "true"}
	if at := kinds.RestartedAt(kind, obj); at != "" {
		annotations[apis.AnnotationRestartedAt] = at
	}
	for _, key := range []string{apis.AnnotationPausedUntil, apis.AnnotationPausedBy, apis.AnnotationPausedReason} {
		if value, is := obj.GetAnnotations()[key]; is {
			annotations[key] = value
		}
	}
	if removed := removedSlots(obj); removed != "" {
		annotations[apis.AnnotationRemovedSlots] = removed
	}
	o.SetAnnotations(annotations)
	if path := kind.Mapping.DeploymentNamePath; len(path) > 0 {
		if name, found, err := unstructured.NestedString(obj.Object, path...); found && err == nil {
			if err := unstructured.SetNestedField(o.Object, name, path...); err != nil {
				return nil, fmt.Errorf("cache %s: %w", obj.GetName(), err)
			}
		}
	}
	status, err := strategy.EncodeStatus(kind.Mapping.Status, strategy.DecodeStatus(kind.Mapping.Status, obj), o)
	if err != nil {
		return nil, fmt.Errorf("cache %s: %w", obj.GetName(), err)
	}
	o.Object["status"] = status
	return o, nil
}

// whole returns an object of the cache, or where that holds an outline, the
// object as it is now; nil: it is gone.
func (o *owners) whole(ctx context.Context, cached *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if _, outlined := cached.GetAnnotations()[annotationOutline]; !outlined {
		return cached, nil
	}
	obj, err := o.client.Namespace(cached.GetNamespace()).Get(ctx, cached.GetName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && obj.GetUID() != cached.GetUID():
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s, which is too large to cache: %w", cached.GetName(), err)
	}
	return obj, nil
}
