package cmd

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// leastRest is how long the looks at one target are apart at least: what
// changes all the time is looked at only so often. A look that took long is
// followed by a longer rest, so that no server does nothing else.
const leastRest = 200 * time.Millisecond

// longestRest is how late a wait may end because of that.
const longestRest = time.Second

// backstop is when a target is looked at again though nothing is known to have
// changed: a pod that does not end, or a node that is silent, is no event.
const backstop = 15 * time.Second

// watch tells see of a target, now, after every change of it or below it, and
// after the time that see asks for, until see is done, the context ends, or the
// server refuses.
func (a *awaiter) watch(ctx context.Context, w awaited, g goal, see func(sight) (done bool, again time.Duration, err error)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	client, err := a.clients.dynamic()
	if err != nil {
		return err
	}
	changes := changes{news: make(chan struct{}, 1)}
	var running sync.WaitGroup
	defer running.Wait()
	defer stop(nil)
	running.Go(func() { stop(changes.ofObject(ctx, w.target.objects(client), w)) })

	var again <-chan time.Time
	var since sightings
	looked := false
	for below := g.below; ; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changes.news:
		case <-again:
		}
		obj := changes.newest()
		if below && obj != nil {
			below = false
			running.Go(func() { changes.below(ctx, client, w.target, obj) })
		}
		begun := time.Now()
		s, err := a.look(ctx, w, g, obj, &since)
		var done bool
		next := pause
		if err == nil {
			looked = true
			done, next, err = see(s)
		}
		if done || err != nil && (!looked || !passing(err)) {
			return causeOf(ctx, err)
		}
		again = time.After(cmp.Or(next, backstop))
		select {
		case <-time.After(min(max(leastRest, 4*time.Since(begun)), longestRest)):
		case <-ctx.Done():
		}
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

// sightings are what a wait remembers of its looks at a target since the last
// change of the spec.
type sightings struct {
	first *status.Evidence
	acted bool
}

// add notes on a look whether the controller has written since the first one.
func (s *sightings) add(e *status.Evidence) {
	if s.first == nil || s.first.Object.UID != e.Object.UID || s.first.Object.Generation != e.Object.Generation {
		first := *e
		s.first, s.acted = &first, false
	}
	s.acted = s.acted || status.Acted(*s.first, *e)
	e.Acted = s.acted
}

// look makes the model of a target whose object has been seen.
func (a *awaiter) look(ctx context.Context, w awaited, g goal, obj *unstructured.Unstructured, since *sightings) (sight, error) {
	t := w.target
	t.obj = obj
	s := sight{target: t, at: time.Now()}
	var err error
	switch {
	case obj == nil:
		s.report = none(t)
	case g.below:
		var e status.Evidence
		e, s.target, err = look(ctx, a.clients, t)
		if err == nil && a.closely {
			err = lookAround(ctx, a.clients, &e)
		}
		if err == nil {
			since.add(&e)
			s.report = status.NewReport(e)
		}
		if !apierrors.IsForbidden(err) || !t.kind.Shipped() {
			break
		}
		fallthrough // its status tells as much without the pods, if less of why
	default:
		var o status.Object
		if o, err = t.kind.Facts(obj); err == nil {
			s.report = status.NewReport(status.Evidence{Object: o, Now: s.at})
		}
	}
	return s, err
}

// changes collects what watches tell about one target.
type changes struct {
	// news is told that there is something to look at.
	news chan struct{}

	mu sync.Mutex
	// obj is the object as it was last seen; nil, there is none.
	obj *unstructured.Unstructured
}

func (c *changes) poke() {
	select {
	case c.news <- struct{}{}:
	default: // it has been told already
	}
}

func (c *changes) newest() *unstructured.Unstructured {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.obj
}

func (c *changes) saw(obj *unstructured.Unstructured) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.obj = obj
	c.poke()
}

// ofObject watches the object. Another of its name is not it, and versions
// before that which the wait begins with are not looked at.
func (c *changes) ofObject(ctx context.Context, objects dynamic.ResourceInterface, w awaited) error {
	uid := w.uid
	saw := func(obj *unstructured.Unstructured) {
		switch {
		case obj == nil:
			c.saw(nil)
		case uid != "" && obj.GetUID() != uid:
			c.saw(nil)
		case w.since == "" || atLeast(obj, w.since):
			uid = obj.GetUID()
			c.saw(obj)
		}
	}
	return follow(ctx, objects, named(w.target.name), w.since, observer{
		listed: func(found []unstructured.Unstructured) (bool, error) {
			if len(found) == 0 {
				saw(nil)
			} else {
				saw(&found[0])
			}
			return false, nil
		},
		changed: func(obj *unstructured.Unstructured, gone bool) (bool, error) {
			if gone {
				obj = nil
			}
			saw(obj)
			return false, nil
		},
	})
}

// below watches the pods among which those of an object are. Who may not see
// them waits without.
func (c *changes) below(ctx context.Context, client dynamic.Interface, t target, obj *unstructured.Unstructured) {
	pods := client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(t.namespace)
	selected := metav1.ListOptions{LabelSelector: podSelector(t.kind, obj.GetUID())}
	for ctx.Err() == nil {
		// One is enough to know from which version on to watch.
		first := selected
		first.Limit = 1
		list, err := pods.List(ctx, first)
		if err != nil {
			return
		}
		c.poke()
		err = followChanges(ctx, pods, selected, list.GetResourceVersion(), observer{
			changed: func(*unstructured.Unstructured, bool) (bool, error) {
				c.poke()
				return false, nil
			},
		})
		if !expired(err) {
			return
		}
	}
}

// none is the report of what is not there.
func none(t target) status.Report {
	return status.Report{
		Metadata: status.Metadata{Type: t.kind.String(), Namespace: t.namespace, Name: t.name},
		Verdict:  status.Deleted, ReasonCode: status.CodeDeleted, Reason: "there is none",
	}
}
