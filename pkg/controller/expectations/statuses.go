package expectations

import (
	"encoding/json"
	"hash/fnv"
	"slices"
	"sync"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
)

// Statuses holds the last statuses that this loop wrote, and what came of
// them: an event that tells of another is somebody else's doing.
type Statuses struct {
	mu sync.Mutex
	of map[Key][]statusHash
}

// mostStatuses is how many statuses of an object are remembered: each is written
// and answered, and the events may be behind by one.
const mostStatuses = 4

// Expect remembers a status of which an event will tell.
func (w *Statuses) Expect(k Key, status plan.Status) {
	hash := hashStatus(status)
	w.mu.Lock()
	defer w.mu.Unlock()
	list := append(w.of[k], hash)
	w.of[k] = slices.Clone(list[max(0, len(list)-mostStatuses):])
}

// Expected reports whether a status is one that this loop wrote.
func (w *Statuses) Expected(k Key, status plan.Status) bool {
	hash := hashStatus(status)
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Contains(w.of[k], hash)
}

func (w *Statuses) forget(k Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of, k)
}

// statusHash tells statuses apart in eight bytes: there are many objects.
type statusHash uint64

func hashStatus(s plan.Status) statusHash {
	h := fnv.New64a()
	if len(s.PodNames) == 0 {
		s.PodNames = nil
	}
	if text, err := json.Marshal(s); err == nil {
		h.Write(text) // a hash never returns an error
	}
	return statusHash(h.Sum64())
}
