package controller

import (
	"encoding/json"
	"hash/fnv"
	"slices"
	"sync"
	"time"

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

// objectState are what the loop remembers of one object between reconciles. Only
// the worker that holds the object's key touches it.
type objectState struct {
	uid  types.UID
	plan plan.Memory
	// podsWritten, deploymentWritten and ownerWritten are the highest
	// resourceVersions that this loop's own writes were answered with.
	podsWritten, deploymentWritten, ownerWritten string
	// created and deleted count the pods since the last event that told of them.
	created, deleted int
	// failing is for how many plans in a row the server failed over a create.
	failing int
	// nameTaken is the last word on who has the name of the Deployment.
	nameTaken string
	// lastLine is the last line that was logged of it.
	lastLine string
}

// lookState is how an object came to be looked at.
type lookState struct {
	look    int64    // its number
	reasons []string // for the next look
	// began is when the last look did, pods how many there were to look at.
	began time.Time
	pods  int
}

// requeueIntervalPerPod is how long after a look there is none, for each pod of the object: of
// thousands that become ready one by one, not each is worth a look at all of them.
// To look at a pod and to plan for it takes a microsecond or two.
const requeueIntervalPerPod = 25 * time.Microsecond

// mostReasons bounds what is noted: of a thousand pods of one object the first
// few tell enough.
const mostReasons = 5

// expectations is what the loop remembers of all objects. All of it can be lost: a
// new loop starts with none.
type expectations struct {
	mu      sync.Mutex
	objects map[key]*objectState
	// timers are the next looks without an event. They are not the queue's own,
	// which cannot be taken back: one that an event has overtaken would be a
	// reconcile for nothing.
	timers map[key]*time.Timer
	// deletions holds the pods that this loop deletes; orphans, by owner, those
	// that went out of sight and were deleted by nobody as far as it knows.
	deletions map[types.UID]*deletion
	orphans   map[key][]*podRecord
	// labelled holds, by owner, the highest resourceVersion of the pods that were
	// labelled again, until its next look.
	labelled map[key]string
	// refused holds the objects whose last creates were refused; true: what
	// refused them has given way since.
	refused map[key]bool
	// waiting holds the objects whose caches are behind the loop's own writes:
	// for these every event counts, also one that changes nothing a plan reads.
	waiting map[key]bool
	// looks holds how objects came to be looked at.
	looks map[key]lookState
	// statuses holds the last statuses that this loop wrote, and what came of them:
	// an event that tells of another is somebody else's doing.
	statuses map[key][]statusHash
}

func newExpectations() *expectations {
	return &expectations{
		objects:   map[key]*objectState{},
		timers:    map[key]*time.Timer{},
		deletions: map[types.UID]*deletion{},
		orphans:   map[key][]*podRecord{},
		labelled:  map[key]string{},
		refused:   map[key]bool{},
		waiting:   map[key]bool{},
		looks:     map[key]lookState{},
		statuses:  map[key][]statusHash{},
	}
}

// of returns the notes on an object, a fresh one if another object had its name.
func (m *expectations) of(k key, uid types.UID) *objectState {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.objects[k]
	if r == nil || r.uid != uid {
		r = &objectState{uid: uid}
		m.objects[k] = r
	}
	return r
}

// repeated reports whether a line was the last one said of an object, and notes it.
func (m *expectations) repeated(k key, line string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.objects[k]
	if r == nil {
		return false
	}
	before := r.lastLine
	r.lastLine = line
	return before == line
}

// forget drops what is known of an object that is gone, or not yet seen: its
// orphans stay to be looked for, and each of them puts it into the queue.
func (m *expectations) forget(k key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, k)
	delete(m.waiting, k)
	delete(m.refused, k)
	delete(m.looks, k)
	delete(m.statuses, k)
	delete(m.labelled, k)
}

// mostStatuses is how many statuses of an object are remembered: each is written
// and answered, and the events may be behind by one.
const mostStatuses = 4

// expectStatus remembers a status of which an event will tell.
func (m *expectations) expectStatus(k key, status plan.Status) {
	hash := hashStatus(status)
	m.mu.Lock()
	defer m.mu.Unlock()
	list := append(m.statuses[k], hash)
	m.statuses[k] = slices.Clone(list[max(0, len(list)-mostStatuses):])
}

// statusExpected reports whether a status is one that this loop wrote.
func (m *expectations) statusExpected(k key, status plan.Status) bool {
	hash := hashStatus(status)
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Contains(m.statuses[k], hash)
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

// because notes why an object is to be looked at.
func (m *expectations) because(k key, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.looks[k]
	if len(t.reasons) < mostReasons {
		t.reasons = append(t.reasons, why)
	}
	m.looks[k] = t
}

// begin notes a look by its number, and returns the reasons for it.
func (m *expectations) begin(k key, look int64, now time.Time) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.looks[k]
	m.looks[k] = lookState{look: look, began: now, pods: t.pods}
	return t.reasons
}

// saw notes how many pods of an object were looked at.
func (m *expectations) saw(k key, pods int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.looks[k]
	t.pods = pods
	m.looks[k] = t
}

// requeueAfter is how long an object is not to be looked at again; less than nothing: it may be.
func (m *expectations) requeueAfter(k key, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.looks[k]
	return t.began.Add(requeueIntervalPerPod * time.Duration(t.pods)).Sub(now)
}

// look is the number of the last look at an object, zero for none.
func (m *expectations) look(k key) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.looks[k].look
}

// deletion is a pod that this loop deletes.
type deletion struct {
	// answered says that the server has deleted it, or has begun to.
	answered bool
	// owner and seen are of the pod if it went out of sight before the answer.
	owner key
	seen  *podRecord
}

// deleting notes that this loop is about to delete a pod.
func (m *expectations) deleting(pod types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.deletions[pod] = &deletion{}
}

// deleted notes the answer to a deletion. Without a good one it is not known
// what became of the pod: if it went out of sight, it is to be looked for; the
// event of that has put its object into the queue again.
func (m *expectations) deleted(pod types.UID, done bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.deletions[pod]
	switch {
	case d == nil:
	case done && d.seen == nil:
		d.answered = true
	default:
		delete(m.deletions, pod)
		if !done && d.seen != nil {
			m.orphans[d.owner] = append(m.orphans[d.owner], d.seen)
		}
	}
}

// gone notes that a pod of an object went out of sight. If it was not deleted
// as far as the loop knows, it is to be looked for. One that is ending goes by
// itself, in sight or not, and its name stays taken until then.
func (m *expectations) gone(k key, r *podRecord) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch d := m.deletions[r.UID]; {
	case r.DeletionTimestamp != nil:
		delete(m.deletions, r.UID)
	case d == nil:
		m.orphans[k] = append(m.orphans[k], r)
	case d.answered: // deleted, or ending
		delete(m.deletions, r.UID)
	default:
		d.owner, d.seen = k, r
	}
}

func (m *expectations) addOrphan(k key, r *podRecord) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.orphans[k] = append(m.orphans[k], r)
}

// takeOrphans returns the pods that are to be looked for, once.
func (m *expectations) takeOrphans(k key) []*podRecord {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.orphans[k]
	delete(m.orphans, k)
	return list
}

// setLabelled notes that a pod of an object was labelled again.
func (m *expectations) setLabelled(k key, resourceVersion string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.labelled[k] = later(resourceVersion, m.labelled[k])
}

// takeLabelled returns, once, the highest resourceVersion of the pods that were
// labelled again.
func (m *expectations) takeLabelled(k key) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	version := m.labelled[k]
	delete(m.labelled, k)
	return version
}

// liftRefusals notes that creates which were refused in a namespace may go
// through now, and returns the objects that they were for.
func (m *expectations) liftRefusals(namespace string) []key {
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []key
	for k := range m.refused {
		if k.namespace == namespace {
			m.refused[k] = true
			keys = append(keys, k)
		}
	}
	return keys
}

// setRefused notes whether an object's last creates were refused.
func (m *expectations) setRefused(k key, refused bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !refused {
		delete(m.refused, k)
		return
	}
	if _, known := m.refused[k]; !known { // what was lifted meanwhile stays lifted
		m.refused[k] = false
	}
}

// lifted says, once, whether what refused an object's creates has given way.
func (m *expectations) lifted(k key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.refused[k] {
		return false
	}
	m.refused[k] = false
	return true
}

// lookAgain calls look after a delay, in place of an earlier call that is not
// yet due. No delay: only that.
func (m *expectations) lookAgain(k key, delay time.Duration, look func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.timers[k]; t != nil {
		t.Stop()
		delete(m.timers, k)
	}
	if delay > 0 {
		m.timers[k] = time.AfterFunc(delay, look)
	}
}

// stop ends all timers.
func (m *expectations) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.timers {
		t.Stop()
	}
}

func (m *expectations) setWaiting(k key, waiting bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if waiting {
		m.waiting[k] = true
		return
	}
	delete(m.waiting, k)
}

func (m *expectations) isWaiting(k key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waiting[k]
}

// behind reports whether a cache has not yet seen a write that was answered with
// this resourceVersion. See KEP-5504 for what makes the two comparable; where
// they cannot be compared, planning goes on: it is safe on an old cache, only
// wasteful.
func behind(store cache.Store, written string) bool {
	return older(store.LastStoreSyncResourceVersion(), written)
}

// later is the higher of two resourceVersions, of which "" is none.
func later(a, b string) string {
	if a == "" || older(a, b) {
		return b
	}
	return a
}

// older reports whether a resourceVersion is known to be lower than another.
func older(a, b string) bool {
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && c < 0
}
