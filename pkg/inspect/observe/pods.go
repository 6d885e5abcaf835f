package observe

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// FollowPods tells see of a target and of the pods that may be its own, now and after
// every change, until the target is gone (ErrGone), the context ends, or the server
// refuses. The report names those that are its own; why they are not ready is in it
// as far as the pods tell.
func FollowPods(ctx context.Context, c *kube.Factory, t Target, connection *follow.Connection, see func(status.Snapshot, status.Report)) error {
	return withChanges(ctx, c, connection, WaitTarget{Target: t}, func(ctx context.Context, changes *watcher) error {
		var running sync.WaitGroup
		defer running.Wait()
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		feeds, err := newFeeds(ctx, c, connection, &running, false)
		if err != nil {
			return err
		}
		return followTree(ctx, feeds, t, changes, see)
	})
}

// followTree tells see of a target and of what stands below it, after every change.
func followTree(ctx context.Context, from *feeds, t Target, changes *watcher, see func(status.Snapshot, status.Report)) error {
	var again <-chan time.Time
	var m *model
	for {
		obj, err := changes.next(ctx, again)
		if err != nil {
			return err
		}
		switch {
		case obj == nil && m == nil:
			return apierrors.NewNotFound(t.Kind.Resource.GroupResource(), t.Name)
		case obj == nil:
			return fmt.Errorf("%s was %w", t, outcome.ErrGone)
		case m == nil:
			m = newModel(from, t, changes.notify)
		}
		begun := time.Now()
		again = nil
		e, err := m.tree(ctx, obj)
		switch {
		case err == nil:
			see(e, status.NewReport(e))
		case follow.Transient(err):
			again = time.After(follow.Pause)
		default:
			return causeOf(ctx, err)
		}
		if err := follow.Sleep(ctx, restAfter(time.Since(begun), leastRest)); err != nil {
			return err
		}
	}
}

// tree is what is known of the target, whose object is given, and of what stands below
// it, without what tells why it is not ready.
func (m *model) tree(ctx context.Context, obj *unstructured.Unstructured) (status.Snapshot, error) {
	if _, err := m.read(ctx, obj); err != nil {
		return status.Snapshot{}, err
	}
	e := status.Snapshot{Object: m.facts, Now: time.Now(), Commands: m.clients.CommandContext()}
	err := m.addTree(ctx, &e)
	return e, err
}
