package informer

import (
	"context"
	"errors"
	"net/url"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// Health logs when the server stops responding or rejects a resource, and when that ends. Informers
// alone would retry a refused connection without a log line.
type Health struct {
	mu sync.Mutex
	// refused holds the resources that the server rejects. unanswered holds the resources whose last
	// request failed in an outage. lost means that an outage was logged, but not its end.
	refused, unanswered map[string]bool
	lost                bool
	logf                func(format string, args ...any)
}

// NewHealth returns a Health that logs with logf.
func NewHealth(logf func(format string, args ...any)) *Health {
	return &Health{logf: logf, refused: map[string]bool{}, unanswered: map[string]bool{}}
}

// observe records the result of a list, or of a request that starts a watch, and logs changes. An
// outage is logged once, not once per resource.
func (h *Health) observe(ctx context.Context, resource string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ctx.Err() != nil { // the loop is stopping, so this is not an error of the server
		delete(h.unanswered, resource)
		return
	}
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Cannot watch", "resource", resource, "err", err)
	}
	if outage(err) {
		if len(h.unanswered) == 0 {
			h.lost = true
			if request, is := errors.AsType[*url.Error](err); is {
				err = request.Err // without the URL
			}
			h.logf("connection to the API server lost: %v; trying again", err)
		}
		h.unanswered[resource] = true
		return
	}
	delete(h.unanswered, resource)
	if h.lost && len(h.unanswered) == 0 {
		h.lost = false
		h.logf("connected again")
	}
	switch {
	case err == nil:
		if h.refused[resource] {
			h.logf("watching %s again", resource)
		}
		delete(h.refused, resource)
	case apierrors.IsNotFound(err), apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		// Do not log that the CRD was deleted or that the watch expired.
	case !h.refused[resource]:
		h.refused[resource] = true
		h.logf("cannot watch %s: %v; trying again", resource, err)
	}
}

// Forget drops the state of a resource that is no longer watched.
func (h *Health) Forget(resource string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.unanswered, resource)
	delete(h.refused, resource)
}

// refuses reports whether the server rejects lists or watches of a resource. If so, its cache is not updated.
func (h *Health) refuses(resource string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.refused[resource]
}

// outage reports whether an error means that the server is unreachable, down, or overloaded.
func outage(err error) bool {
	return err != nil && (follow.Transient(err) || !errors.As(err, new(apierrors.APIStatus)))
}
