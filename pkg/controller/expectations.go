package controller

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// expectations is what the loop remembers of objects between reconciles, and what
// it expects to see of its own writes. All of it can be lost: a new loop starts
// with none.
type expectations struct {
	objects  *objectStates
	orphans  *orphanTracker
	refused  *refusedCreates
	waiting  *cacheWaits
	statuses *writtenStatuses
}

func newExpectations() *expectations {
	return &expectations{
		objects: &objectStates{of: map[key]*objectState{}}, orphans: newOrphanTracker(),
		refused: &refusedCreates{lifted: map[key]bool{}}, waiting: &cacheWaits{of: map[key]bool{}},
		statuses: &writtenStatuses{of: map[key][]statusHash{}},
	}
}

// forget drops what is known of an object that is gone, or not yet seen: its
// orphans stay to be looked for, and each of them puts it into the queue.
func (e *expectations) forget(k key) {
	e.objects.forget(k)
	e.orphans.forget(k)
	e.refused.set(k, false)
	e.waiting.set(k, false)
	e.statuses.forget(k)
}

// objectState are what the loop remembers of one object between reconciles. Only
// the worker that holds the object's key touches it.
type objectState struct {
	uid  types.UID
	plan plan.Memory
	// podsWritten and ownerWritten are the highest resourceVersions that this loop's
	// own writes of them were answered with, besideWritten those of what the plans of
	// a strategy look at beside pods.
	podsWritten, ownerWritten string
	besideWritten             map[kinds.Strategy]string
	// created and deleted count the pods since the last event that told of them.
	created, deleted int
	// failing is for how many plans in a row the server failed over a create.
	failing int
	// nameTaken is the last word on who has the name of the Deployment.
	nameTaken string
	// lastLine is the last line that was logged of it.
	lastLine string
}

// objectStates are those of all objects.
type objectStates struct {
	mu sync.Mutex
	of map[key]*objectState
}

// get returns the state of an object, a fresh one if another object had its name.
func (s *objectStates) get(k key, uid types.UID) *objectState {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.of[k]
	if r == nil || r.uid != uid {
		r = &objectState{uid: uid, besideWritten: map[kinds.Strategy]string{}}
		s.of[k] = r
	}
	return r
}

// repeated reports whether a line was the last one said of an object, and notes it.
func (s *objectStates) repeated(k key, line string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.of[k]
	if r == nil {
		return false
	}
	before := r.lastLine
	r.lastLine = line
	return before == line
}

func (s *objectStates) forget(k key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, k)
}

// refusedCreates holds the objects whose last creates were refused; true: what
// refused them has given way since.
type refusedCreates struct {
	mu     sync.Mutex
	lifted map[key]bool
}

// lift notes that creates which were refused in a namespace may go through now,
// and returns the objects that they were for.
func (r *refusedCreates) lift(namespace string) []key {
	r.mu.Lock()
	defer r.mu.Unlock()
	var keys []key
	for k := range r.lifted {
		if k.namespace == namespace {
			r.lifted[k] = true
			keys = append(keys, k)
		}
	}
	return keys
}

// set notes whether an object's last creates were refused.
func (r *refusedCreates) set(k key, refused bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !refused {
		delete(r.lifted, k)
		return
	}
	if _, known := r.lifted[k]; !known { // what was lifted meanwhile stays lifted
		r.lifted[k] = false
	}
}

// takeLifted says, once, whether what refused an object's creates has given way.
func (r *refusedCreates) takeLifted(k key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.lifted[k] {
		return false
	}
	r.lifted[k] = false
	return true
}

// cacheWaits holds the objects whose caches are behind the loop's own writes:
// for these every event counts, also one that changes nothing a plan reads.
type cacheWaits struct {
	mu sync.Mutex
	of map[key]bool
}

func (w *cacheWaits) set(k key, waiting bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if waiting {
		w.of[k] = true
		return
	}
	delete(w.of, k)
}

func (w *cacheWaits) has(k key) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.of[k]
}
