package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/facts"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe/feeds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

const (
	// leastRest is the minimum delay after an observation in a wait. glance is the minimum delay in Follow,
	// whose output people read. Slow observations have a longer delay to limit the load.
	leastRest = 10 * time.Millisecond
	glance    = 250 * time.Millisecond
	// longestRest is the maximum delay. A longer delay would postpone the end of a wait.
	longestRest = time.Second
	// backstop is the time after which an object is observed again even if nothing has changed. For example, no
	// watch event reports that a pod is stuck, or that a run-controller has stopped.
	backstop = 15 * time.Second
)

func restAfter(took, least time.Duration) time.Duration {
	return min(max(least, 4*took), longestRest)
}

// Follower follows objects, and shows each when it or one of its children changes. The objects share watches.
type Follower struct {
	*feeds.Feeds
	extent Extent
	// every means that an observation is shown even if nothing has changed.
	every bool
	// patient means that observations wait for events and nodes that can explain why an object is not ready.
	patient bool

	// mu guards members, and is held while an object is shown.
	mu      sync.Mutex
	members map[types.UID]*model
}

// NewFollower returns a follower, which must be stopped. several means that several objects can share the
// feeds of a namespace. every means that an observation is shown even if nothing has changed.
func NewFollower(ctx context.Context, c *kube.Clients, connection *follow.Connection, e Extent, several, every bool) *Follower {
	from := feeds.New(ctx, c, connection, several)
	return &Follower{Feeds: from, extent: e, every: every, members: map[types.UID]*model{}}
}

// Source selects the object Name or, if Name is empty, all objects of a kind. An empty Namespace means all namespaces.
type Source struct {
	Target
	// Selector is a label selector for the objects of the kind. It is ignored if Name is set.
	Selector string
	// Listed, if set, is called with the initial number of objects.
	Listed func(n int) error
	// Show is called for one object at a time. A deleted object has the verdict Deleted.
	Show func(Observation) error
	// Fail is called with an error after which an object is no longer followed.
	Fail func(error)
}

// Follow shows each object of a source, and shows it again after each change. Follow returns when the context
// ends, when the server rejects a request, or when a named object does not exist (NotFound) or is deleted (ErrGone).
func (f *Follower) Follow(ctx context.Context, from Source) error {
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	selected := metav1.ListOptions{LabelSelector: from.Selector}
	if from.Name != "" {
		selected = follow.ByName(from.Name)
	}
	known := map[types.UID]*unstructured.Unstructured{}
	change := func(obj *unstructured.Unstructured, gone bool) error {
		if !gone {
			known[obj.GetUID()] = obj
			f.put(ctx, &running, from, obj)
			return nil
		}
		delete(known, obj.GetUID())
		if err := f.remove(from, obj); err != nil || from.Name == "" {
			return err
		}
		return fmt.Errorf("%s was %w", from.Target, outcome.ErrGone)
	}
	return follow.Objects(ctx, follow.SourceOf(from.Resource(f.Dynamic)), selected, f.Connection, follow.Handler[*unstructured.Unstructured]{
		Listed: func(found []*unstructured.Unstructured) (bool, error) {
			if from.Name != "" && len(found)+len(known) == 0 {
				return false, apierrors.NewNotFound(from.Kind.Resource.GroupResource(), from.Name)
			}
			if listed := from.Listed; listed != nil {
				from.Listed = nil
				if err := listed(len(found)); err != nil {
					return false, err
				}
			}
			missing := maps.Clone(known)
			for _, obj := range found {
				delete(missing, obj.GetUID())
				if err := change(obj, false); err != nil {
					return false, err
				}
			}
			for _, obj := range missing {
				if err := change(obj, true); err != nil {
					return false, err
				}
			}
			return false, nil
		},
		Changed: func(obj *unstructured.Unstructured, gone bool) (bool, error) { return false, change(obj, gone) },
	})
}

func (from Source) of(obj *unstructured.Unstructured) Target {
	t := from.Target
	t.Namespace, t.Name, t.Object = obj.GetNamespace(), obj.GetName(), obj
	return t
}

// put starts to follow a new object, or passes the new version of a known object to its model.
func (f *Follower) put(ctx context.Context, running *sync.WaitGroup, from Source, obj *unstructured.Unstructured) {
	f.mu.Lock()
	defer f.mu.Unlock()
	uid := obj.GetUID()
	m := f.members[uid]
	if m == nil {
		m = newModel(f.Feeds, from.of(obj), f.extent)
		f.members[uid] = m
		running.Go(func() {
			if err := f.lookOn(ctx, m, Condition{Tree: true}, true, f.see(uid, from.Show)); err != nil && ctx.Err() == nil {
				from.Fail(kube.Explain(from.Kind, err))
			}
		})
	}
	m.set(obj)
}

// remove stops following an object, and shows that the object is gone.
func (f *Follower) remove(from Source, obj *unstructured.Unstructured) error {
	facts, err := facts.Of(from.Kind, obj)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.members[obj.GetUID()]
	if m == nil {
		return nil // another source has shown the deletion
	}
	delete(f.members, obj.GetUID())
	m.set(nil)
	return from.Show(Observation{Target: from.of(obj), Report: status.NewReport(status.Snapshot{Object: facts}).Gone(), At: time.Now()})
}

// see returns a callback for lookOn. The callback shows an object if the object or its report has changed.
func (f *Follower) see(uid types.UID, show func(Observation) error) func(Observation) (bool, time.Duration, error) {
	var last *Observation
	unexplained := steady{wanted: explaining}
	return func(o Observation) (bool, time.Duration, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if o.Object == nil || f.members[uid] == nil {
			return true, 0, nil
		}
		if _, wait := unexplained.look(o.Partial, o.At); wait > 0 {
			return false, wait, nil
		}
		if !f.every && last != nil && last.Object.GetResourceVersion() == o.Object.GetResourceVersion() && !o.turned(*last) {
			return false, o.recheck(), nil
		}
		last = &o
		return false, o.recheck(), show(o)
	}
}

// watch calls see with an observation of the target immediately, after each change of the target or its children, and
// after the delay that see returns, until see returns true or an error, ctx ends, or the server rejects a request.
func (f *Follower) watch(ctx context.Context, goal WaitTarget, c Condition, see func(Observation) (done bool, again time.Duration, err error)) error {
	ctx, stop := context.WithCancelCause(ctx)
	m := newModel(f.Feeds, goal.Target, f.extent)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop(nil)
	running.Go(func() { stop(m.watchObject(ctx, goal.UID)) })
	return f.lookOn(ctx, m, c, false, see)
}

// lookOn is like watch, but the caller passes new versions of the target to the model. If watched is true,
// observations are less frequent, and even the first observation is retried after a transient error.
func (f *Follower) lookOn(ctx context.Context, m *model, c Condition, watched bool, see func(Observation) (done bool, again time.Duration, err error)) error {
	var again <-chan time.Time
	looked, rest := watched, leastRest
	if watched {
		rest = glance
	}
	m.patient, m.history.counted = f.patient, c.CountOnly
	defer func() {
		for from := range m.subscribed {
			from.Unsubscribe(m)
		}
	}()
	for {
		obj, err := m.next(ctx, again)
		if err != nil {
			return err
		}
		m.begun = time.Now()
		o, err := m.observe(ctx, c, obj)
		var done bool
		next := follow.Pause
		if err == nil {
			looked = true
			done, next, err = see(o)
		}
		if done || err != nil && (!looked || !follow.Transient(err)) {
			return causeOf(ctx, err)
		}
		again = time.After(min(cmp.Or(next, backstop), backstop))
		_ = follow.Sleep(ctx, restAfter(time.Since(m.begun), rest)) // next reports the end of the context
	}
}

// causeOf returns err or, if err results from the cancellation of ctx, the cause of the cancellation.
func causeOf(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, cause)) {
		return cause
	}
	return err
}

// observe returns an observation of the target. obj is nil if the target does not exist.
func (m *model) observe(ctx context.Context, c Condition, obj *unstructured.Unstructured) (Observation, error) {
	t := m.target
	t.Object = obj
	seen := Observation{Target: t, At: time.Now()}
	var err error
	switch {
	case obj == nil:
		seen.Report = status.Report{
			Metadata: status.Metadata{Type: t.Kind.String(), Namespace: t.Namespace, Name: t.Name},
			Verdict:  status.Deleted, ReasonCode: problem.CodeDeleted, Reason: "it does not exist",
		}
	case c.Tree:
		if _, seen.Report, err = m.look(ctx, obj); err == nil {
			seen.Partial, seen.from = m.partial, m
			seen.Report, seen.Object, err = m.confirm(ctx, c, obj, seen.Report)
		}
		if !apierrors.IsForbidden(err) || !t.Kind.Shipped() {
			break
		}
		fallthrough // the status is enough for a verdict, but gives fewer reasons
	default:
		var o status.Object
		if o, err = facts.Of(t.Kind, obj); err == nil {
			seen.Report = status.NewReport(status.Snapshot{Object: o, Now: seen.At, Commands: m.CommandContext()})
		}
	}
	return seen, err
}

// confirm returns the report and the object that a wait must use. If c.FailsFast is set and the object seems ready,
// confirm reads everything one more time, because one watch can lag behind another. For shipped and built-in kinds, it
// relies on the status.
func (m *model) confirm(ctx context.Context, c Condition, obj *unstructured.Unstructured, r status.Report) (status.Report, *unstructured.Unstructured, error) {
	if kind := m.target.Kind; !r.Verdict.Settled() || !c.FailsFast || m.confirmed || kind.Shipped() || kind.BuiltIn() {
		m.confirmed = m.confirmed && r.Verdict.Settled()
		return r, obj, nil
	}
	t := m.target
	t.Object = nil
	fresh, seen, err := Read(ctx, m.Clients, t, Extent{Depth: Reasons})
	if err != nil {
		return r, obj, err
	}
	m.history.add(&fresh)
	r = status.NewReport(fresh)
	m.confirmed = r.Verdict.Settled()
	return r, seen.Object, nil
}

// notify causes another observation, after a relevant change of the target or of an object in a subscribed feed.
func (m *model) notify() {
	select {
	case m.changed <- struct{}{}:
	default: // an observation is already due
	}
}

// next waits for a change, a value from again, or the end of ctx. It returns the object, or nil if it does not exist.
func (m *model) next(ctx context.Context, again <-chan time.Time) (*unstructured.Unstructured, error) {
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-m.changed:
	case <-again:
	}
	return m.newest.Load(), nil
}

func (m *model) set(obj *unstructured.Unstructured) {
	m.newest.Store(obj)
	m.notify()
}

// watchObject calls set with each version of the target, or with nil if it does not exist or has another UID. If uid is
// empty, the first version determines the UID.
func (m *model) watchObject(ctx context.Context, uid types.UID) error {
	return follow.One(ctx, m.target.Resource(m.Dynamic), m.target.Name, m.Connection, func(obj *unstructured.Unstructured) (bool, error) {
		if obj != nil {
			uid = cmp.Or(uid, obj.GetUID())
		}
		if obj != nil && obj.GetUID() != uid {
			obj = nil
		}
		m.set(obj)
		return false, nil
	})
}
