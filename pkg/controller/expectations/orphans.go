package expectations

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
)

// Orphans knows which pods went out of sight although they may be there.
type Orphans struct {
	mu sync.Mutex
	// deletions holds the pods that this loop deletes; orphans, by owner, those
	// that went out of sight and were deleted by nobody as far as it knows.
	deletions map[types.UID]*deletion
	orphans   map[Key][]*strategy.PodRecord
	// labelled holds, by owner, the highest resourceVersion of the pods that were
	// labelled again, until its next look.
	labelled map[Key]string
}

func newOrphans() *Orphans {
	return &Orphans{
		deletions: map[types.UID]*deletion{}, orphans: map[Key][]*strategy.PodRecord{}, labelled: map[Key]string{},
	}
}

// deletion is a pod that this loop deletes.
type deletion struct {
	// answered says that the server has deleted it, or has begun to.
	answered bool
	// owner and seen are of the pod if it went out of sight before the answer.
	owner Key
	seen  *strategy.PodRecord
}

// Deleting notes that this loop is about to delete a pod.
func (t *Orphans) Deleting(pod types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.deletions[pod] = &deletion{}
}

// Deleted notes the answer to a deletion. Without a good one it is not known
// what became of the pod: if it went out of sight, it is to be looked for; the
// event of that has put its object into the queue again.
func (t *Orphans) Deleted(pod types.UID, done bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.deletions[pod]
	switch {
	case d == nil:
	case done && d.seen == nil:
		d.answered = true
	default:
		delete(t.deletions, pod)
		if !done && d.seen != nil {
			t.orphans[d.owner] = append(t.orphans[d.owner], d.seen)
		}
	}
}

// Gone notes that a pod of an object went out of sight. If it was not deleted
// as far as the loop knows, it is to be looked for. One that is ending goes by
// itself, in sight or not, and its name stays taken until then.
func (t *Orphans) Gone(k Key, r *strategy.PodRecord) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch d := t.deletions[r.UID]; {
	case r.DeletionTimestamp != nil:
		delete(t.deletions, r.UID)
	case d == nil:
		t.orphans[k] = append(t.orphans[k], r)
	case d.answered: // deleted, or ending
		delete(t.deletions, r.UID)
	default:
		d.owner, d.seen = k, r
	}
}

// Add notes a pod that is to be looked for.
func (t *Orphans) Add(k Key, r *strategy.PodRecord) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.orphans[k] = append(t.orphans[k], r)
}

// Take returns the pods that are to be looked for, once.
func (t *Orphans) Take(k Key) []*strategy.PodRecord {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.orphans[k]
	delete(t.orphans, k)
	return list
}

// SetLabelled notes that a pod of an object was labelled again.
func (t *Orphans) SetLabelled(k Key, resourceVersion string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.labelled[k] = informer.Later(resourceVersion, t.labelled[k])
}

// TakeLabelled returns, once, the highest resourceVersion of the pods that were
// labelled again.
func (t *Orphans) TakeLabelled(k Key) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	version := t.labelled[k]
	delete(t.labelled, k)
	return version
}

// forget drops what waits for the next look at an object. Its orphans stay to be
// looked for.
func (t *Orphans) forget(k Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.labelled, k)
}
