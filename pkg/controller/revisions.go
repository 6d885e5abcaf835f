package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
)

// revisionCache is the cache of the ControllerRevisions, in which the loop keeps the
// templates that objects had. They are a convenience: where they cannot be read or written,
// the log says so once, and pods go on without.
type revisionCache struct {
	*informer.Informer
	controller *Controller
	// unreadable is closed, once, if the revisions cannot be read.
	unreadable chan struct{}
	once       sync.Once
}

// revisionTimeout is how long pods wait at the start until the revisions have been read.
const revisionTimeout = 30 * time.Second

// await waits until the cache is filled, turns out to be unreadable, or the context ends. Without
// it, an object would seem to have no history.
func (r *revisionCache) await(ctx context.Context) {
	select {
	case <-r.Need():
	case <-r.unreadable:
	case <-time.After(revisionTimeout):
		r.giveUp(fmt.Errorf("no complete list within %s", revisionTimeout))
	case <-ctx.Done():
	}
}

// giveUp lets pods go on without a history, and logs why.
func (r *revisionCache) giveUp(err error) {
	r.once.Do(func() {
		r.controller.report.Logf("cannot list %s: %v; trying again; the history of pod templates is not kept until then", r.Resource, err)
		close(r.unreadable)
	})
}

// keep fills the cache when the first kind needs it.
func (r *revisionCache) keep(ctx context.Context) {
	failed := 0
	r.Run(ctx, func(err error) {
		if failed++; err != nil && (forbidden(err) || apierrors.IsNotFound(err) || failed == troubleAfter) {
			r.giveUp(err)
		}
	})
}

// resume reconciles all objects, now with a history, if pods went on without one.
func (r *revisionCache) resume() {
	select {
	case <-r.unreadable:
		r.controller.report.Logf("listed %s: keeping the history of pod templates", r.Resource)
		r.controller.wakeAll("revisions can be read")
	default:
	}
}

func (c *Controller) revisionKeys(obj any) []memory.Key {
	if r, ok := obj.(*strategy.RevisionRecord); ok {
		if o, k := c.kinds.controllerOf(r); o != nil {
			return []memory.Key{k}
		}
	}
	return nil
}
