package controller

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// kindSet maps the name of each CRD to the *owners of its kind. It includes refused kinds, and kinds whose CRD is not
// installed.
type kindSet struct{ sync.Map }

func (k *kindSet) get(crd string) *owners {
	found, _ := k.Load(crd)
	o, _ := found.(*owners)
	return o
}

func (k *kindSet) list() (all []*owners) {
	for _, found := range k.Range {
		if o, ok := found.(*owners); ok {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b *owners) int { return cmp.Compare(a.kind.CRD(), b.kind.CRD()) })
	return all
}

func (k *kindSet) by(name kinds.Strategy) []*owners {
	return slices.DeleteFunc(k.list(), func(o *owners) bool { return o.kind.Mapping.Strategy != name })
}

// controllerOf returns the kind and the key of an object's controller, or nil if the object has no
// controller of a kind in the set. It ignores the version in the owner reference.
func (k *kindSet) controllerOf(obj metav1.Object) (*owners, memory.Key) {
	ref := metav1.GetControllerOfNoCopy(obj)
	if ref == nil {
		return nil, memory.Key{}
	}
	controller := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
	for _, found := range k.Range {
		if o, ok := found.(*owners); ok && o.kind.GroupVersionKind().GroupKind() == controller {
			return o, o.keyOf(obj.GetNamespace(), ref.Name)
		}
	}
	return nil, memory.Key{}
}

// readersOf returns the keys of the objects that an event about obj requeues: the controller of obj if obj is
// namespaced, or else all objects with the given strategy.
func (k *kindSet) readersOf(name kinds.Strategy, obj any) (keys []memory.Key) {
	input, ok := obj.(metav1.Object)
	if !ok {
		return nil
	}
	if input.GetNamespace() != "" {
		if o, controller := k.controllerOf(input); o != nil {
			keys = append(keys, controller)
		}
		return keys
	}
	for _, o := range k.by(name) {
		keys = append(keys, o.keys()...)
	}
	return keys
}

// owners is a kind with the cache of its objects. The cache exists only while the CRD is installed.
type owners struct {
	kind     kinds.Kind
	strategy *strategy.Strategy
	client   dynamic.NamespaceableResourceInterface
	// declared means that the kind comes from Options.Declared. stop stops the informer, and waits until it has ended.
	// withdrawn means that the CRD no longer has this declaration, so nothing is written for the objects.
	declared  bool
	stop      func()
	withdrawn atomic.Bool
	state     atomic.Pointer[ownerState]
}

type ownerState struct {
	// objects is nil until the objects are watched, and after the CRD is removed.
	objects *informer.Informer
	// missing means that the CRD is not installed. refused is the error that Refused returns.
	missing bool
	refused error
}

// hasSynced reports whether all objects have been added to the queue, or the kind is missing or refused.
func (s *ownerState) hasSynced() bool {
	return s.missing || s.refused != nil || s.objects != nil && s.objects.Filled()
}

func (o *owners) keyOf(namespace, name string) memory.Key {
	return memory.Key{Kind: o.kind.CRD(), Namespace: namespace, Name: name}
}

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

// get returns an object from the cache, or nil. The caller must not change the object.
func (o *owners) get(namespace, name string) *unstructured.Unstructured {
	objects := o.state.Load().objects
	if objects == nil {
		return nil
	}
	obj, _, _ := objects.GetStore().GetByKey(cache.NewObjectName(namespace, name).String())
	u, _ := obj.(*unstructured.Unstructured)
	return u
}

// differs reports whether two states of an object can lead to different plans. It ignores the status.
func differs(kind kinds.Kind, a, b *unstructured.Unstructured) bool {
	return kinds.RestartedAt(kind, a) != kinds.RestartedAt(kind, b) || apis.ReadPause(a.GetAnnotations()) != apis.ReadPause(b.GetAnnotations()) ||
		removedSlots(a) != removedSlots(b) || a.GetUID() != b.GetUID() || a.GetGeneration() != b.GetGeneration() ||
		(a.GetDeletionTimestamp() == nil) != (b.GetDeletionTimestamp() == nil)
}

// removedSlots returns the annotation that lists the removed slots of an object. If the value is
// too long, it is cut to one byte more than the maximum, so that it stays invalid.
func removedSlots(obj *unstructured.Unstructured) string {
	text := obj.GetAnnotations()[apis.AnnotationRemovedSlots]
	return text[:min(len(text), slots.MaxRemovedText+1)]
}
