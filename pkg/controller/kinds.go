package controller

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// kindSet maps the name of a CRD to its kind and the cache of its objects. It also holds kinds that
// are refused, and kinds whose CRD is not installed.
type kindSet struct {
	mu  sync.RWMutex
	all map[string]*owners
}

// get returns nil if the set does not have the kind.
func (k *kindSet) get(crd string) *owners {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.all[crd]
}

func (k *kindSet) list() []*owners {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return slices.SortedFunc(maps.Values(k.all), func(a, b *owners) int { return cmp.Compare(a.kind.CRD(), b.kind.CRD()) })
}

func (k *kindSet) put(o *owners) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all[o.kind.CRD()] = o
}

func (k *kindSet) remove(o *owners) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.all, o.kind.CRD())
}

func (k *kindSet) by(name kinds.Strategy) []*owners {
	return slices.DeleteFunc(k.list(), func(o *owners) bool { return o.kind.Mapping.Strategy != name })
}

// controllerOf returns the kind and the key of an object's controller, whatever the API version in
// the reference. It returns nil if there is no reference or its kind is not in the set.
func (k *kindSet) controllerOf(obj metav1.Object) (*owners, memory.Key) {
	ref := metav1.GetControllerOfNoCopy(obj)
	if ref == nil {
		return nil, memory.Key{}
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return nil, memory.Key{}
	}
	k.mu.RLock()
	defer k.mu.RUnlock()
	for _, o := range k.all {
		if ref.Kind == o.kind.Kind && gv.Group == o.kind.Resource.Group {
			return o, o.keyOf(obj.GetNamespace(), ref.Name)
		}
	}
	return nil, memory.Key{}
}

// readersOf returns the keys of the objects whose plans read an object. If that object is
// namespaced, only its controller reads it. Otherwise, all objects of the strategy do.
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
