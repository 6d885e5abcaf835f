package controller

import (
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
)

// What an event says of an object, as a reason to look.
const (
	listed  = "existed at the start"
	added   = "was added"
	updated = "was updated"
	deleted = "was deleted"
)

// handler gives the events of an informer to enqueue, and those of objects that may have
// changed to update, which tells whether they have.
func handler(enqueue func(obj any, changed bool, how string), update func(old, obj any)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			how := added
			if initial {
				how = listed
			}
			enqueue(obj, true, how)
		},
		UpdateFunc: update,
		DeleteFunc: func(obj any) { enqueue(obj, true, deleted) },
	}
}

// wake puts an object into the queue when something changed that its plan reads, or when
// the loop waits to see what it wrote itself. What the first list shows need not have
// changed, and comes later.
func (l *loop) wake(k memory.Key, changed bool, how string, why ...string) {
	switch {
	case how == listed:
		l.queue.WakeLater(k, why...)
	case changed || l.memory.Behind(k):
		l.queue.Wake(k, why...)
	}
}
