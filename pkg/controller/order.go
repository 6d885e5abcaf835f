package controller

import (
	"sync"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
)

// order decides which object the queue hands out next: an object that changed before one of the
// backlog, which the loop reads when it starts. So a change does not wait for thousands of objects
// that need nothing. controller-runtime has such a queue by default since 0.23.
type order struct {
	mu sync.Mutex
	// later holds the objects that join the backlog when they are next added.
	later map[memory.Key]bool
	// queued holds the queued objects, and whether each is in the backlog. The backlog may
	// still list one that has moved to the changed ones.
	queued           map[memory.Key]bool
	changed, backlog []memory.Key
}

func newOrder() *order {
	return &order{later: map[memory.Key]bool{}, queued: map[memory.Key]bool{}}
}

// set notes whether an object joins the backlog when it is next added.
func (o *order) set(k memory.Key, later bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if later {
		o.later[k] = true
	} else {
		delete(o.later, k)
	}
}

// takeLater returns what was set for an object, and forgets it.
func (o *order) takeLater(k memory.Key) bool {
	later := o.later[k]
	delete(o.later, k)
	return later
}

// Push adds an object that is not queued.
func (o *order) Push(k memory.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	later := o.takeLater(k)
	o.queued[k] = later
	if later {
		o.backlog = append(o.backlog, k)
	} else {
		o.changed = append(o.changed, k)
	}
}

// Touch is called when a queued object is added again. A change takes it out of the
// backlog, and nothing puts it back there.
func (o *order) Touch(k memory.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if later := o.takeLater(k); !later && o.queued[k] {
		o.queued[k] = false
		o.changed = append(o.changed, k)
	}
}

// Len returns how many objects are queued.
func (o *order) Len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.queued)
}

// Pop takes the next object. The queue calls it only if there is one.
func (o *order) Pop() (k memory.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.changed) > 0 {
		k, o.changed = o.changed[0], o.changed[1:]
		delete(o.queued, k)
		return k
	}
	for !o.queued[k] { // it is stale
		k, o.backlog = o.backlog[0], o.backlog[1:]
	}
	delete(o.queued, k)
	return k
}
