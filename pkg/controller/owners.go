package controller

import (
	"context"
	"fmt"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// owners is a kind with the cache of its objects. The cache exists only while the CRD is installed.
// Without the cache, no object of the kind is reconciled.
type owners struct {
	kind     kinds.Kind
	strategy *strategy.Strategy
	client   dynamic.NamespaceableResourceInterface
	// declared means that the kind follows the declaration in its CRD. stop ends the informer, and
	// stopped is closed when the informer has ended. withdrawn means that the declaration is no longer
	// in force, so the cache is not updated, and nothing is written for the objects.
	declared  bool
	stop      context.CancelFunc
	stopped   chan struct{}
	withdrawn atomic.Bool
	state     atomic.Pointer[ownerState]
}

// ownerState is the state of a kind's cache.
type ownerState struct {
	// objects is the cache, or nil while the objects are not cached.
	objects *informer.Informer
	// missing means that the CRD is not installed. refused is the reason why the objects cannot be
	// reconciled: a missing permission, an input that cannot be listed, or a wrong declaration.
	missing bool
	refused error
}

// hasSynced reports whether all objects that can be read have been put into the queue.
func (s *ownerState) hasSynced() bool {
	return s.missing || s.refused != nil || s.objects != nil && s.objects.Filled()
}

// byUID is the index of a kind's objects by their UIDs.
const byUID = "uid"

func indexByUID(obj any) ([]string, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("index an object by its UID: unexpected %T", obj)
	}
	return []string{string(u.GetUID())}, nil
}

func (o *owners) keyOf(namespace, name string) memory.Key {
	return memory.Key{Kind: o.kind.CRD(), Namespace: namespace, Name: name}
}

// keysOf returns the keys of objects of the kind. It skips values of any other type.
func (o *owners) keysOf(objects ...any) (keys []memory.Key) {
	for _, obj := range objects {
		if u, ok := obj.(*unstructured.Unstructured); ok {
			keys = append(keys, o.keyOf(u.GetNamespace(), u.GetName()))
		}
	}
	return keys
}

func (o *owners) keys() []memory.Key {
	if objects := o.state.Load().objects; objects != nil {
		return o.keysOf(objects.GetStore().List()...)
	}
	return nil
}

// keysOfUID returns the key of the object with the given UID, or nil if the object is not cached.
func (o *owners) keysOfUID(uid types.UID) []memory.Key {
	objects := o.state.Load().objects
	if objects == nil {
		return nil
	}
	found, _ := objects.GetIndexer().ByIndex(byUID, string(uid)) // no error, because the index exists
	return o.keysOf(found...)
}

// get returns an object from the cache, or nil if it is not cached. The caller must not change it.
func (o *owners) get(namespace, name string) *unstructured.Unstructured {
	objects := o.state.Load().objects
	if objects == nil {
		return nil
	}
	obj, _, _ := objects.GetStore().GetByKey(cache.NewObjectName(namespace, name).String())
	u, _ := obj.(*unstructured.Unstructured)
	return u
}

// differs reports whether two states of an object may get different plans. It ignores the status.
func differs(kind kinds.Kind, a, b *unstructured.Unstructured) bool {
	return kinds.RestartedAt(kind, a) != kinds.RestartedAt(kind, b) || apis.ReadPause(a.GetAnnotations()) != apis.ReadPause(b.GetAnnotations()) ||
		removedSlots(a) != removedSlots(b) || a.GetUID() != b.GetUID() || a.GetGeneration() != b.GetGeneration() ||
		(a.GetDeletionTimestamp() == nil) != (b.GetDeletionTimestamp() == nil)
}

// removedSlots returns the annotation that lists the removed slots of an object. It cuts a value
// that is too long to one byte more than the maximum, so that the value stays invalid.
func removedSlots(obj *unstructured.Unstructured) string {
	text := obj.GetAnnotations()[apis.AnnotationRemovedSlots]
	return text[:min(len(text), slots.MaxRemovedText+1)]
}

func reference(kind kinds.Kind, obj *unstructured.Unstructured) metav1.OwnerReference {
	return *metav1.NewControllerRef(obj, kind.GroupVersionKind())
}
