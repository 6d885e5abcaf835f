package informer

import (
	"context"
	"errors"
	"net/url"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
)

// Health knows whether the server answers, and says so once when that changes.
// Informers retry forever and are silent where a connection is refused.
type Health struct {
	mu sync.Mutex
	// refused are the resources that the server does not let us watch, unanswered
	// those of which nothing is heard; lost says that this was said, and nothing since.
	refused, unanswered map[string]bool
	lost                bool
	say                 func(format string, args ...any)
}

// NewHealth makes a Health that says what it has to say.
func NewHealth(say func(format string, args ...any)) *Health {
	return &Health{say: say, refused: map[string]bool{}, unanswered: map[string]bool{}}
}

// observe takes the outcome of a list or of the start of a watch. An outage is told
// once, and not by each resource.
func (h *Health) observe(ctx context.Context, resource string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ctx.Err() != nil { // the loop stops: that is not the server's trouble
		delete(h.unanswered, resource)
		return
	}
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Cannot watch", "resource", resource, "err", err)
	}
	if outage(err) {
		if len(h.unanswered) == 0 {
			h.lost = true
			h.say("connection to the API server lost: %v; trying again", withoutURL(err))
		}
		h.unanswered[resource] = true
		return
	}
	delete(h.unanswered, resource)
	if h.lost && len(h.unanswered) == 0 {
		h.lost = false
		h.say("connected again")
	}
	switch {
	case err == nil:
		if h.refused[resource] {
			h.say("watching %s again", resource)
		}
		delete(h.refused, resource)
	case apierrors.IsNotFound(err), apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		// The CRD is gone, or a watch is too old.
	case !h.refused[resource]:
		h.refused[resource] = true
		h.say("cannot watch %s: %v; trying again", resource, err)
	}
}

// Forget drops what is known of a resource that is not watched any more: nothing will be
// heard of it.
func (h *Health) Forget(resource string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.unanswered, resource)
	delete(h.refused, resource)
}

// Refuses reports whether the server does not let us watch a resource: what was read of
// it is not kept up to date.
func (h *Health) Refuses(resource string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.refused[resource]
}

// outage reports whether an error is about the connection or the server as a whole.
func outage(err error) bool {
	var answer apierrors.APIStatus
	switch {
	case err == nil:
		return false
	case !errors.As(err, &answer):
		return true
	}
	return apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// withoutURL is an error without the request that it came of.
func withoutURL(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err
	}
	return err
}
