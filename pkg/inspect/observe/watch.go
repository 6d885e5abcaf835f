package observe

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/facts"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// leastRest is how long two looks at a target are apart at least where a command ends by
// what they see: what changes all the time is looked at only so often. A look that took
// long is followed by a longer rest, so that this program does not do nothing else.
// Waiting for what is read once and then followed does not count: it does not come
// again, and the end of a wait would be late because of it.
const leastRest = 10 * time.Millisecond

// longestRest is how late a wait may end because of that.
const longestRest = time.Second

// backstop is when a target is looked at again though nothing is known to have
// changed: a pod that does not end, or a node that is silent, is no event.
const backstop = 15 * time.Second

// restAfter is how long a target is left alone after a look that took so long, and at
// least.
func restAfter(took, least time.Duration) time.Duration {
	return min(max(least, 4*took), longestRest)
}

// watch tells see of a target, now, after every change of it or below it, and
// after the time that see asks for, until see is done, the context ends, or the
// server refuses.
func (a *Waiter) watch(ctx context.Context, w WaitTarget, g Condition, see func(Observation) (done bool, again time.Duration, err error)) error {
	return withChanges(ctx, a.Clients, a.Connection, w, func(ctx context.Context, changes *watcher) error {
		return a.watchChanges(ctx, w.Target, g, changes, see)
	})
}

// withChanges calls do with a watcher of the object of a target, which ends with it. Why
// the object cannot be watched ends the context of do.
func withChanges(ctx context.Context, c *kube.Factory, connection *follow.Connection, w WaitTarget, do func(context.Context, *watcher) error) error {
	client, err := c.Dynamic()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	changes := watcher{changed: make(chan struct{}, 1), connection: connection}
	var running sync.WaitGroup
	defer running.Wait()
	defer stop(nil)
	running.Go(func() { stop(changes.watchObject(ctx, w.Target.Resource(client), w)) })
	return do(ctx, &changes)
}

// watchChanges is watch for an object of whose changes others tell.
func (a *Waiter) watchChanges(ctx context.Context, t Target, g Condition, changes *watcher, see func(Observation) (done bool, again time.Duration, err error)) error {
	var again <-chan time.Time
	since := history{counted: g.CountOnly}
	looked := false
	var m *model
	for {
		obj, err := changes.next(ctx, again)
		if err != nil {
			return err
		}
		if obj != nil && g.Tree && m == nil {
			m = newModel(a.feeds, t, changes.notify)
			m.patient = a.Limits.Once
		}
		begun := time.Now()
		s, err := a.look(ctx, t, g, obj, m, &since)
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
		_ = follow.Sleep(ctx, restAfter(m.since(begun), cmp.Or(g.Rest, leastRest))) // next says why the context has ended
	}
}

// causeOf is the reason for which a context ended where that is what made an
// error of a request.
func causeOf(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, cause)) {
		return cause
	}
	return err
}

// history are what a wait remembers of its looks at a target since the last
// change of the spec.
type history struct {
	first        *status.Snapshot
	acted, below bool
	// counted says that the wait is for a count that was just written.
	counted bool
}

// add notes on a look whether the controller has written since the first one.
func (s *history) add(e *status.Snapshot) {
	if s.first == nil || s.first.Object.UID != e.Object.UID || s.first.Object.Generation != e.Object.Generation {
		first := *e
		first.Pods, first.Events = nil, nil // which nothing is compared with
		*s = history{first: &first, counted: s.counted}
	}
	s.acted = s.acted || status.Acted(*s.first, *e)
	s.below = s.below || status.ActedBelow(*s.first, *e)
	e.Acted, e.ActedBelow, e.Since, e.Counted = s.acted, s.below, s.first.Now, s.counted
}

// look says how a target is, whose object is given: nil, there is none.
func (a *Waiter) look(ctx context.Context, t Target, g Condition, obj *unstructured.Unstructured, m *model, since *history) (Observation, error) {
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
		if s.Report, err = m.look(ctx, obj, a.Closely, a.brief, since); err == nil {
			s.Report, s.Object, err = a.confirm(ctx, g, m, obj, s.Report, since)
			s.Partial = m.partial
			s.whole = func(ctx context.Context) (status.Report, error) {
				m.patient = true
				return m.look(ctx, obj, a.Closely, a.brief, since)
			}
		}
		if !apierrors.IsForbidden(err) || !t.Kind.Shipped() {
			break
		}
		fallthrough // its status tells as much without the pods, if less of why
	default:
		var o status.Object
		if o, err = facts.Of(t.Kind, obj); err == nil {
			s.Report = status.NewReport(status.Snapshot{Object: o, Now: s.At, Commands: a.Clients.CommandContext()})
		}
	}
	return s, err
}

// confirm is the report on a target that a wait relies on, with the object that it is of. Where the watches say that it
// has come to what is waited for, it is read anew first, as they may be behind each
// other. Of what this program or Kubernetes reconciles, its own status says so.
func (a *Waiter) confirm(ctx context.Context, g Condition, m *model, obj *unstructured.Unstructured, r status.Report, since *history) (status.Report, *unstructured.Unstructured, error) {
	if kind := m.target.Kind; !r.Verdict.Settled() || !g.FailsFast || m.confirmed || kind.Shipped() || kind.BuiltIn() {
		m.confirmed = m.confirmed && r.Verdict.Settled()
		return r, obj, nil
	}
	t := m.target
	t.Object = nil
	fresh, t, err := Read(ctx, a.Clients, t)
	if err != nil {
		return r, obj, err
	}
	since.add(&fresh)
	r = status.NewReport(fresh)
	m.confirmed = r.Verdict.Settled()
	return r, t.Object, nil
}

// watcher collects what watches tell about one target.
type watcher struct {
	// changed is told that there is something to look at.
	changed chan struct{}
	// connection notes whether the server is to be found.
	connection *follow.Connection

	mu sync.Mutex
	// obj is the object as it was last seen; nil, there is none.
	obj *unstructured.Unstructured
}

func (c *watcher) notify() {
	select {
	case c.changed <- struct{}{}:
	default: // it has been told already
	}
}

// next waits for a change, or until it is time to look again, and returns the object as
// it is then; nil, there is none.
func (c *watcher) next(ctx context.Context, again <-chan time.Time) (*unstructured.Unstructured, error) {
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-c.changed:
	case <-again:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.obj, nil
}

func (c *watcher) set(obj *unstructured.Unstructured) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.obj = obj
	c.notify()
}

// watchObject watches the object. Another of its name is not it, and versions
// before that which the wait begins with are not looked at.
func (c *watcher) watchObject(ctx context.Context, objects dynamic.ResourceInterface, w WaitTarget) error {
	uid := w.UID
	return follow.One(ctx, objects, w.Target.Name, w.Since, c.connection, func(obj *unstructured.Unstructured) (bool, error) {
		switch {
		case obj == nil, uid != "" && obj.GetUID() != uid:
			c.set(nil)
		case w.Since == "" || AtLeast(obj, w.Since):
			uid = obj.GetUID()
			c.set(obj)
		}
		return false, nil
	})
}
