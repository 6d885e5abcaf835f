package memory

import (
	"encoding/json"
	"hash/fnv"
	"slices"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
)

// maxStatuses is how many statuses of an object are remembered. Each is noted as sent and
// as answered, and the events may be behind by one.
const maxStatuses = 4

// ExpectStatus notes a status that this loop writes.
func (m *Memory) ExpectStatus(k Key, status plan.Status) {
	hash := hashStatus(status)
	m.update(k, func(e *entry) {
		all := append(e.statuses, hash)
		e.statuses = slices.Clone(all[max(0, len(all)-maxStatuses):])
	})
}

// WroteStatus reports whether this loop wrote a status. The event of any other is of
// someone else's write.
func (m *Memory) WroteStatus(k Key, status plan.Status) (wrote bool) {
	hash := hashStatus(status)
	m.update(k, func(e *entry) { wrote = slices.Contains(e.statuses, hash) })
	return wrote
}

// statusHash identifies a status in eight bytes, as there are many objects.
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
