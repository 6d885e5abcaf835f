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
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/facts"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

const (
	// leastRest is the least time between two looks at an object that a command waits for, and
	// glance that between two looks at an object that a person watches. A look that took long
	// is followed by a longer rest, so that the command does not look all the time.
	leastRest = 10 * time.Millisecond
	glance    = 250 * time.Millisecond
	// longestRest bounds how late a wait may end because of that.
	longestRest = time.Second
	// backstop is when an object is looked at again although nothing is known to have changed:
	// a pod that does not end and a node that does not respond are no events.
	backstop = 15 * time.Second
)

// restAfter returns how long an object is left alone after a look that took so long.
func restAfter(took, least time.Duration) time.Duration {
	return min(max(least, 4*took), longestRest)
}

// Follower follows objects, and shows each whenever it, or something below it, has changed.
// The objects share their watches.
type Follower struct {
	*feeds
	extent Extent
	// every says that every look is shown. Otherwise, a look is shown if it differs.
	every bool
	// patient says that looks wait for what may explain why an object is not ready.
	patient bool

	// mu is held while an object is shown.
	mu      sync.Mutex
	members map[types.UID]*watcher
}

// NewFollower makes a follower, which must be stopped. If it follows several objects, they may
// share a namespace. If it shows every look, also those that say the same are shown.
func NewFollower(ctx context.Context, c *kube.Factory, connection *follow.Connection, x Extent, several, every bool) (*Follower, error) {
	m := followOne
	if several {
		m = followSeveral
	}
	from, err := newFeeds(ctx, c, connection, m)
	if err != nil {
		return nil, err
	}
	return &Follower{feeds: from, extent: x, every: every, members: map[types.UID]*watcher{}}, nil
}

// Stop ends what the follower has begun.
func (f *Follower) Stop() { f.stop() }

// Source selects the objects to follow: with a name, this object, and otherwise the objects of
// the kind.
type Source struct {
	Target
	// Everywhere says that the objects are those of all namespaces, and Selector selects them
	// by their labels.
	Everywhere bool
	Selector   string
	// Listed is told how many objects there are at first.
	Listed func(n int) error
	// Show shows one object at a time. An object that is gone has the verdict Deleted.
	Show func(Observation) error
	// Fail is told of an error that ends the following of an object.
	Fail func(error)
}

// Follow shows the objects of a source, now and after each change, until the context ends, the
// server refuses, or an object that was named is gone (ErrGone).
func (f *Follower) Follow(ctx context.Context, from Source) error {
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	objects, selected := from.selects(f.dynamic)
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
	first := true
	return follow.Objects(ctx, follow.SourceOf(objects), selected, "", f.connection, follow.Handler[*unstructured.Unstructured]{
		Listed: func(found []*unstructured.Unstructured) (bool, error) {
			if first {
				if err := from.listed(len(found)); err != nil {
					return false, err
				}
			}
			first = false
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

// selects returns the client and the options that select the objects of a source.
func (from Source) selects(client dynamic.Interface) (dynamic.ResourceInterface, metav1.ListOptions) {
	switch {
	case from.Name != "":
		return from.Resource(client), follow.ByName(from.Name)
	case from.Everywhere:
		return client.Resource(from.Kind.Resource), metav1.ListOptions{LabelSelector: from.Selector}
	}
	return from.Resource(client), metav1.ListOptions{LabelSelector: from.Selector}
}

// listed notes how many objects there are at first. An object that was named must be there.
func (from Source) listed(n int) error {
	if n == 0 && from.Name != "" {
		return apierrors.NewNotFound(from.Kind.Resource.GroupResource(), from.Name)
	}
	if from.Listed == nil {
		return nil
	}
	return from.Listed(n)
}

// of returns the target of an object of a source.
func (from Source) of(obj *unstructured.Unstructured) Target {
	t := from.Target
	t.Namespace, t.Name, t.Object = obj.GetNamespace(), obj.GetName(), obj
	return t
}

// put follows an object, or a new version of it.
func (f *Follower) put(ctx context.Context, running *sync.WaitGroup, from Source, obj *unstructured.Unstructured) {
	f.mu.Lock()
	defer f.mu.Unlock()
	uid := obj.GetUID()
	changes := f.members[uid]
	if changes == nil {
		changes = newWatcher()
		f.members[uid] = changes
		running.Go(func() {
			if err := f.lookOn(ctx, from.of(obj), Condition{Tree: true}, true, changes, f.see(uid, from.Show)); err != nil && ctx.Err() == nil {
				from.Fail(kube.Explain(from.Kind, err))
			}
		})
	}
	changes.set(obj)
}

// remove shows that an object is gone. From then on, nothing else is shown of it.
func (f *Follower) remove(from Source, obj *unstructured.Unstructured) error {
	facts, err := facts.Of(from.Kind, obj)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if changes := f.members[obj.GetUID()]; changes != nil {
		delete(f.members, obj.GetUID())
		changes.set(nil)
	}
	return from.Show(Observation{Target: from.of(obj), Report: status.NewReport(status.Snapshot{Object: facts}).Gone(), At: time.Now()})
}

// see shows an object when it has changed, or what there is to say about it has.
func (f *Follower) see(uid types.UID, show func(Observation) error) func(Observation) (bool, time.Duration, error) {
	var last *Observation
	unexplained := steady{wanted: explaining}
	return func(s Observation) (bool, time.Duration, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if s.Object == nil || f.members[uid] == nil {
			return true, 0, nil
		}
		if _, wait := unexplained.look(s.Partial, s.At); wait > 0 {
			return false, wait, nil
		}
		again := s.Report.Recheck
		if doubtful(s.Report.ReasonCode) {
			again = follow.Pause
		}
		if !f.every && last != nil && last.Object.GetResourceVersion() == s.Object.GetResourceVersion() && !s.turned(*last) {
			return false, again, nil
		}
		last = &s
		return false, again, show(s)
	}
}

// watch calls see with what a wait waits for, now, after every change of it or of what stands
// below it, and after the time that see asks for, until see is done, the context ends, or the
// server refuses.
func (f *Follower) watch(ctx context.Context, w WaitTarget, g Condition, see func(Observation) (done bool, again time.Duration, err error)) error {
	ctx, stop := context.WithCancelCause(ctx)
	changes := newWatcher()
	var running sync.WaitGroup
	defer running.Wait()
	defer stop(nil)
	running.Go(func() { stop(changes.watchObject(ctx, w.Target.Resource(f.dynamic), w, f.connection)) })
	return f.lookOn(ctx, w.Target, g, false, changes, see)
}

// lookOn is watch for an object whose changes a watcher collects. If a person watches the
// object, a server that fails at the first look is asked again.
func (f *Follower) lookOn(ctx context.Context, t Target, g Condition, watched bool, changes *watcher, see func(Observation) (done bool, again time.Duration, err error)) error {
	var again <-chan time.Time
	looked, rest := watched, leastRest
	if watched {
		rest = glance
	}
	m := newModel(f.feeds, t, f.extent, changes.notify)
	m.patient, m.history.counted = f.patient, g.CountOnly
	for {
		obj, err := changes.next(ctx, again)
		if err != nil {
			return err
		}
		m.begun = time.Now()
		s, err := m.observe(ctx, g, obj)
		var done bool
		next := follow.Pause
		if err == nil {
			looked = true
			done, next, err = see(s)
		}
		if done || err != nil && (!looked || !follow.Transient(err)) {
			return causeOf(ctx, err)
		}
		again = time.After(cmp.Or(next, backstop))
		_ = follow.Sleep(ctx, restAfter(time.Since(m.begun), rest)) // next returns why the context has ended
	}
}

// causeOf returns the cause of the end of a context, if that is what made a request fail.
func causeOf(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, cause)) {
		return cause
	}
	return err
}

// observe observes the target, whose object is given: nil if there is none.
func (m *model) observe(ctx context.Context, g Condition, obj *unstructured.Unstructured) (Observation, error) {
	t := m.target
	t.Object = obj
	s := Observation{Target: t, At: time.Now()}
	var err error
	switch {
	case obj == nil:
		s.Report = status.Report{
			Metadata: status.Metadata{Type: t.Kind.String(), Namespace: t.Namespace, Name: t.Name},
			Verdict:  status.Deleted, ReasonCode: problem.CodeDeleted, Reason: "it does not exist yet",
		}
	case g.Tree:
		var e status.Snapshot
		if e, s.Report, err = m.look(ctx, obj); err == nil {
			s.Pods, s.Partial = e.Pods, m.partial
			s.Report, s.Object, err = m.confirm(ctx, g, obj, s.Report)
			s.whole = func(ctx context.Context) (status.Report, error) {
				m.patient = true
				_, r, err := m.look(ctx, obj)
				return r, err
			}
		}
		if !apierrors.IsForbidden(err) || !t.Kind.Shipped() {
			break
		}
		fallthrough // its status shows as much without the pods, if fewer reasons
	default:
		var o status.Object
		if o, err = facts.Of(t.Kind, obj); err == nil {
			s.Report = status.NewReport(status.Snapshot{Object: o, Now: s.At, Commands: m.clients.CommandContext()})
		}
	}
	return s, err
}

// confirm returns the report on a target that a wait relies on, and the object that it is
// about. If the watches show that a wait may end, it reads everything again, because they may
// lag behind each other. Of what this program or Kubernetes reconciles, the status shows it.
func (m *model) confirm(ctx context.Context, g Condition, obj *unstructured.Unstructured, r status.Report) (status.Report, *unstructured.Unstructured, error) {
	if kind := m.target.Kind; !r.Verdict.Settled() || !g.FailsFast || m.confirmed || kind.Shipped() || kind.BuiltIn() {
		m.confirmed = m.confirmed && r.Verdict.Settled()
		return r, obj, nil
	}
	t := m.target
	t.Object = nil
	fresh, t, err := Read(ctx, m.clients, t, Extent{Depth: Reasons})
	if err != nil {
		return r, obj, err
	}
	m.history.add(&fresh)
	r = status.NewReport(fresh)
	m.confirmed = r.Verdict.Settled()
	return r, t.Object, nil
}
