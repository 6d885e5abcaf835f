package controller

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// owners is the cache of one kind's objects. Its informer comes and goes with
// the CRD; between two of them there is nothing to reconcile.
type owners struct {
	kind     kinds.Kind
	strategy *strategy.Strategy
	ownsPods bool // as its strategy has it
	client   dynamic.NamespaceableResourceInterface
	// declared says that a CRD declares the kind: stop ends its informer, and
	// stopped is closed then. withdrawn says that the declaration is not in force any
	// more: the cache stands still, and nothing is written by it.
	declared  bool
	stop      context.CancelFunc
	stopped   chan struct{}
	withdrawn atomic.Bool

	mu    sync.RWMutex
	store cache.Indexer
	// synced reports whether all objects that there were have been put into the queue;
	// missing, that the CRD is not installed, so there are none; refused, why they, or what
	// their plans need, may not be read.
	synced  func() bool
	missing bool
	refused error
}

// The indexes of a kind's objects: by their UIDs, and by the input that they want.
const (
	byUID    = "uid"
	byWanted = "wanted"
)

func (o *owners) indexers() cache.Indexers {
	index := func(value func(*unstructured.Unstructured) string) cache.IndexFunc {
		return func(obj any) ([]string, error) {
			u, ok := obj.(*unstructured.Unstructured)
			if !ok {
				return nil, fmt.Errorf("index an object of %s: unexpected %T", o.kind.CRD(), obj)
			}
			return []string{value(u)}, nil
		}
	}
	indexers := cache.Indexers{byUID: index(func(u *unstructured.Unstructured) string { return string(u.GetUID()) })}
	if input := o.strategy.Input; input != nil && input.Name != nil {
		indexers[byWanted] = index(func(u *unstructured.Unstructured) string {
			return cache.NewObjectName(u.GetNamespace(), input.Name(o.kind, u)).String()
		})
	}
	return indexers
}

func (o *owners) key(obj *unstructured.Unstructured) memory.Key {
	return o.keyOf(obj.GetNamespace(), obj.GetName())
}

func (o *owners) keyOf(namespace, name string) memory.Key {
	return memory.Key{Kind: o.kind.CRD(), Namespace: namespace, Name: name}
}

// keys are those of all objects in the cache.
func (o *owners) keys() []memory.Key { return o.keysIn(o.getStore()) }

// keysIn are those of all objects in a cache of the kind, which may be nil.
func (o *owners) keysIn(store cache.Indexer) []memory.Key {
	if store == nil {
		return nil
	}
	var keys []memory.Key
	for _, obj := range store.List() {
		if u, ok := obj.(*unstructured.Unstructured); ok {
			keys = append(keys, o.key(u))
		}
	}
	return keys
}

// find returns the objects that an index has under a value.
func (o *owners) find(index, value string) []*unstructured.Unstructured {
	store := o.getStore()
	if store == nil {
		return nil
	}
	found, err := store.ByIndex(index, value)
	if err != nil {
		return nil // the kind has no such index
	}
	objects := make([]*unstructured.Unstructured, 0, len(found))
	for _, obj := range found {
		if u, ok := obj.(*unstructured.Unstructured); ok {
			objects = append(objects, u)
		}
	}
	return objects
}

func (o *owners) setStore(s cache.Indexer, synced func() bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.store, o.synced, o.missing, o.refused = s, synced, false, nil
}

func (o *owners) setMissing() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.missing = true
}

func (o *owners) setRefused(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refused = err
}

func (o *owners) getRefused() error {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.refused
}

// cached returns the cache, nil if there is none, and says whether it holds all
// that there is.
func (o *owners) cached() (store cache.Indexer, synced bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.store, o.missing || o.refused != nil || (o.synced != nil && o.synced())
}

func (o *owners) getStore() cache.Indexer {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.store
}

// get returns an object from the cache, nil if there is none. It is shared:
// nobody may change it.
func (o *owners) get(namespace, name string) *unstructured.Unstructured {
	store := o.getStore()
	if store == nil {
		return nil
	}
	obj, found, err := store.GetByKey(cache.NewObjectName(namespace, name).String())
	if err != nil || !found {
		return nil
	}
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	return u
}

// differs reports whether a plan could tell the two objects apart. A change of
// the status alone is mostly the loop's own: statusChanged knows.
func differs(kind kinds.Kind, a, b *unstructured.Unstructured) bool {
	return kinds.RestartedAt(kind, a) != kinds.RestartedAt(kind, b) || apis.ReadPause(a.GetAnnotations()) != apis.ReadPause(b.GetAnnotations()) ||
		removedSlots(a) != removedSlots(b) || a.GetUID() != b.GetUID() || a.GetGeneration() != b.GetGeneration() ||
		(a.GetDeletionTimestamp() == nil) != (b.GetDeletionTimestamp() == nil)
}

// removedSlots is what an object says of the slots that it has given up, no longer than
// what can be read, and a byte to tell that it is.
func removedSlots(obj *unstructured.Unstructured) string {
	text := obj.GetAnnotations()[apis.AnnotationRemovedSlots]
	return text[:min(len(text), slots.MaxRemovedText+1)]
}

// reference is the controller reference of the pods of an object.
func reference(kind kinds.Kind, obj *unstructured.Unstructured) metav1.OwnerReference {
	return *metav1.NewControllerRef(obj, kind.GroupVersionKind())
}
