package queue

import (
	"sync"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
)

// order decides which object the queue hands out next: one that has changed before
// one that is only looked at because the controller has started or looks at all objects
// again. So a change does not wait for thousands of objects that need nothing.
// controller-runtime has such a queue by default since 0.23.
type order struct {
	mu sync.Mutex
	// later are the objects whose next place is in the backlog.
	later map[memory.Key]bool
	// places says where each queued object is. The backlog may still list one that has
	// moved to the changed ones.
	places           map[memory.Key]place
	changed, backlog []memory.Key
}

// place is one of the two lists of an order.
type place int

const (
	inChanged place = iota
	inBacklog
)

func newOrder() *order {
	return &order{later: map[memory.Key]bool{}, places: map[memory.Key]place{}}
}

// set says whether the next place of an object is in the backlog, or among those that
// have changed.
func (o *order) set(k memory.Key, later bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if later {
		o.later[k] = true
	} else {
		delete(o.later, k)
	}
}

// Push adds an object that is not queued.
func (o *order) Push(k memory.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.later[k] {
		delete(o.later, k)
		o.places[k] = inBacklog
		o.backlog = append(o.backlog, k)
		return
	}
	o.places[k] = inChanged
	o.changed = append(o.changed, k)
}

// Touch hears that a queued object is added again. A change takes it out of the
// backlog; nothing puts it back there.
func (o *order) Touch(k memory.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	later := o.later[k]
	delete(o.later, k)
	if !later && o.places[k] == inBacklog {
		o.places[k] = inChanged
		o.changed = append(o.changed, k)
	}
}

// Len is how many objects are queued.
func (o *order) Len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.places)
}

// Pop takes the next object. The queue calls it only if there is one.
func (o *order) Pop() (k memory.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.changed) > 0 {
		k, o.changed = o.changed[0], o.changed[1:]
		o.forget(k)
		return k
	}
	for len(o.backlog) > 0 {
		k, o.backlog = o.backlog[0], o.backlog[1:]
		if where, queued := o.places[k]; queued && where == inBacklog {
			break
		}
	}
	o.forget(k)
	return k
}

func (o *order) forget(k memory.Key) {
	delete(o.places, k)
}
