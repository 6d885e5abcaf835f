package expectations

import "sync"

// Waits holds the objects whose caches are behind the loop's own writes:
// for these every event counts, also one that changes nothing a plan reads.
type Waits struct {
	mu sync.Mutex
	of map[Key]bool
}

// Set notes whether the caches of an object are behind.
func (w *Waits) Set(k Key, waiting bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if waiting {
		w.of[k] = true
		return
	}
	delete(w.of, k)
}

// Has reports whether they are.
func (w *Waits) Has(k Key) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.of[k]
}
