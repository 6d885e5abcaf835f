package controller

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
)

// key names an object in the queue.
type key struct {
	kind            string // plural.group
	namespace, name string
}

// notes are what the loop remembers of one object between reconciles. Only
// the worker that holds the object's key touches it.
type notes struct {
	uid  types.UID
	plan plan.Memory
	// podsWritten and ownerWritten are the highest resourceVersions that this
	// loop's own writes were answered with.
	podsWritten, ownerWritten string
	// created and deleted count the pods since the last event that told of them.
	created, deleted int
	// said is the last line that was announced.
	said string
}

// memory is what the loop remembers of all objects. All of it can be lost: a
// new loop starts with none.
type memory struct {
	mu    sync.Mutex
	notes map[key]*notes
	// waiting holds the objects whose caches are behind the loop's own writes:
	// for these every event counts, also one that changes nothing a plan reads.
	waiting map[key]bool
}

func newMemory() *memory {
	return &memory{notes: map[key]*notes{}, waiting: map[key]bool{}}
}

// of returns the notes on an object, a fresh one if another object had its name.
func (m *memory) of(k key, uid types.UID) *notes {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.notes[k]
	if r == nil || r.uid != uid {
		r = &notes{uid: uid}
		m.notes[k] = r
	}
	return r
}

// forget drops what is known of an object that is gone.
func (m *memory) forget(k key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.notes, k)
	delete(m.waiting, k)
}

func (m *memory) setWaiting(k key, waiting bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if waiting {
		m.waiting[k] = true
		return
	}
	delete(m.waiting, k)
}

func (m *memory) isWaiting(k key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waiting[k]
}

// behind says whether a cache has not yet seen a write that was answered with
// this resourceVersion. See KEP-5647 for what makes the two comparable.
func behind(store cache.Store, written string) (bool, error) {
	if written == "" {
		return false, nil
	}
	c, err := resourceversion.CompareResourceVersion(store.LastStoreSyncResourceVersion(), written)
	if err != nil {
		return false, fmt.Errorf("compare the cache with what was written: %w", err)
	}
	return c < 0, nil
}

// later is the higher of two resourceVersions, of which "" is none.
func later(a, b string) string {
	if a == "" {
		return b
	}
	if c, err := resourceversion.CompareResourceVersion(a, b); err == nil && c < 0 {
		return b
	}
	return a
}
