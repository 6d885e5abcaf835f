package expectations

import "sync"

// Refusals holds the objects whose last creates were refused; true: what
// refused them has given way since.
type Refusals struct {
	mu     sync.Mutex
	lifted map[Key]bool
}

// Lift notes that creates which were refused in a namespace may go through now,
// and returns the objects that they were for.
func (r *Refusals) Lift(namespace string) []Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	var keys []Key
	for k := range r.lifted {
		if k.Namespace == namespace {
			r.lifted[k] = true
			keys = append(keys, k)
		}
	}
	return keys
}

// Set notes whether an object's last creates were refused.
func (r *Refusals) Set(k Key, refused bool) {
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

// TakeLifted says, once, whether what refused an object's creates has given way.
func (r *Refusals) TakeLifted(k Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.lifted[k] {
		return false
	}
	r.lifted[k] = false
	return true
}
