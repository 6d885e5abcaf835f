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

// owners is the cache of one kind's objects. Its informer comes and goes with the CRD.
// Between two of them there is nothing to reconcile.
type owners struct {
	kind     kinds.Kind
	strategy *strategy.Strategy
	client   dynamic.NamespaceableResourceInterface
	// declared means that a CRD declares the kind. stop then ends its informer and closes stopped.
	// withdrawn means that the declaration is no longer in force: the cache stands still, and
	// nothing is written for it.
	declared  bool
	stop      context.CancelFunc
	stopped   chan struct{}
	withdrawn atomic.Bool
	state     atomic.Pointer[ownerState]
}

// ownerState is the state of a kind's cache.
type ownerState struct {
	// objects is nil while they are not cached.
	objects *informer.Informer
	// missing means that the CRD is not installed. refused is the reason why permission to
	// read the objects, or what plans for them need, is missing.
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

// keysOf returns the keys of objects of the kind.
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

// keysOfUID returns the key of the object with a UID, if the cache has it.
func (o *owners) keysOfUID(uid types.UID) []memory.Key {
	objects := o.state.Load().objects
	if objects == nil {
		return nil
	}
	found, _ := objects.GetIndexer().ByIndex(byUID, string(uid)) // there is such an index
	return o.keysOf(found...)
}

// get returns an object from the cache, nil if there is none. It is shared and must not
// be changed.
func (o *owners) get(namespace, name string) *unstructured.Unstructured {
	objects := o.state.Load().objects
	if objects == nil {
		return nil
	}
	obj, _, err := objects.GetStore().GetByKey(cache.NewObjectName(namespace, name).String())
	if u, ok := obj.(*unstructured.Unstructured); ok && err == nil {
		return u
	}
	return nil
}

// differs reports whether a plan could tell two states of an object apart, their statuses
// aside.
func differs(kind kinds.Kind, a, b *unstructured.Unstructured) bool {
	return kinds.RestartedAt(kind, a) != kinds.RestartedAt(kind, b) || apis.ReadPause(a.GetAnnotations()) != apis.ReadPause(b.GetAnnotations()) ||
		removedSlots(a) != removedSlots(b) || a.GetUID() != b.GetUID() || a.GetGeneration() != b.GetGeneration() ||
		(a.GetDeletionTimestamp() == nil) != (b.GetDeletionTimestamp() == nil)
}

// removedSlots returns the annotation with the slots that an object has given up, cut to one byte
// more than a valid one can have.
func removedSlots(obj *unstructured.Unstructured) string {
	text := obj.GetAnnotations()[apis.AnnotationRemovedSlots]
	return text[:min(len(text), slots.MaxRemovedText+1)]
}

func reference(kind kinds.Kind, obj *unstructured.Unstructured) metav1.OwnerReference {
	return *metav1.NewControllerRef(obj, kind.GroupVersionKind())
}
