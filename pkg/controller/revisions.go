package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
)

// revisionCache caches the ControllerRevisions, in which the loop keeps earlier templates of
// objects. Revisions are optional. If they cannot be read or written, the log reports it once, and
// the objects are reconciled without a history.
type revisionCache struct {
	*informer.Informer
	controller *Controller
	// unreadable is closed, once, if the revisions cannot be read.
	unreadable chan struct{}
	once       sync.Once
}

// revisionTimeout limits how long objects wait at the start until the revisions have been listed.
const revisionTimeout = 30 * time.Second

// await fills the cache, and waits until it is filled or unreadable, revisionTimeout has passed, or
// the context ends. From an empty cache, an object would seem to have no history.
func (r *revisionCache) await(ctx context.Context) {
	select {
	case <-r.Need():
	case <-r.unreadable:
	case <-time.After(revisionTimeout):
		r.giveUp(fmt.Errorf("no complete list within %s", revisionTimeout))
	case <-ctx.Done():
	}
}

// giveUp makes await return, so that objects are reconciled without a history, and logs why.
func (r *revisionCache) giveUp(err error) {
	r.once.Do(func() {
		r.controller.report.Logf("cannot list %s: %v; trying again; the history of pod templates is not kept until then", r.Resource, err)
		close(r.unreadable)
	})
}

// keep fills the cache when it is first needed, and calls giveUp if the revisions cannot be listed.
func (r *revisionCache) keep(ctx context.Context) {
	failed := 0
	r.Run(ctx, func(err error) {
		if failed++; err != nil && (forbidden(err) || apierrors.IsNotFound(err) || failed == troubleAfter) {
			r.giveUp(err)
		}
	})
}

// resume requeues all objects after the first list, if they were reconciled without a history.
func (r *revisionCache) resume() {
	select {
	case <-r.unreadable:
		r.controller.report.Logf("listed %s: keeping the history of pod templates", r.Resource)
		for _, o := range r.controller.kinds.list() {
			for _, k := range o.keys() {
				r.controller.wakeLater(k, "revisions can be read")
			}
		}
	default:
	}
}
