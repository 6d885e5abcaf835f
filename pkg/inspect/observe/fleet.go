package observe

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// Fleet follows objects that come and go, such as all of a kind, and reports on each
// when it or something below it has changed. All share their watches.
type Fleet struct {
	show   func(status.Report) error
	follow func(t Target, changes *watcher)

	mu      sync.Mutex
	members map[types.UID]*watcher
}

// NewFleet makes a fleet that is empty. It follows until the context ends, and is
// counted among what runs until then. show is told of one report at a time; fail is
// told of what ends the following of an object before that. Several says that there may
// be more than one object in a namespace. Closely says that reports
// tell all there is also of objects that say of themselves that they are ready.
func NewFleet(ctx context.Context, running *sync.WaitGroup, c *kube.Factory, connection *follow.Connection, several, closely bool, show func(status.Report) error, fail func(error)) (*Fleet, error) {
	feeds, err := newFeeds(ctx, c, connection, running, several)
	if err != nil {
		return nil, err
	}
	w := &Waiter{Clients: c, Connection: connection, Closely: closely, feeds: feeds, brief: !closely}
	f := &Fleet{show: show, members: map[types.UID]*watcher{}}
	f.follow = func(t Target, changes *watcher) {
		running.Go(func() {
			if err := w.watchChanges(ctx, t, Watched(), changes, f.see(t.Object.GetUID())); err != nil && ctx.Err() == nil {
				fail(kube.Explain(t.Kind, err))
			}
		})
	}
	return f, nil
}

// Put takes in an object as it is now.
func (f *Fleet) Put(t Target) {
	f.mu.Lock()
	defer f.mu.Unlock()
	uid := t.Object.GetUID()
	changes := f.members[uid]
	if changes == nil {
		changes = &watcher{changed: make(chan struct{}, 1)}
		f.members[uid] = changes
		f.follow(t, changes)
	}
	changes.set(t.Object)
}

// Remove follows an object no longer: nothing is shown of it from then on.
func (f *Fleet) Remove(uid types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if changes := f.members[uid]; changes != nil {
		delete(f.members, uid)
		changes.set(nil)
	}
}

// see shows an object when it has changed, or what there is to say of it.
func (f *Fleet) see(uid types.UID) func(Observation) (bool, time.Duration, error) {
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
		if last != nil && last.Object.GetResourceVersion() == s.Object.GetResourceVersion() && !s.turned(*last) {
			return false, again, nil
		}
		last = &s
		return false, again, f.show(s.Report)
	}
}
