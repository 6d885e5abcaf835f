package apiserver

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Match chooses requests.
type Match func(Request) bool

// On chooses requests by their verbs, with "|" between several, and by the resource, with
// the subresource behind a slash. "*" is any verb, and any resource or subresource:
// On("get|list", "pods"), On("patch", "deployments/scale"), On("*", "pods/*").
func On(verbs, resource string) Match {
	return func(r Request) bool {
		if verbs != "*" && !slices.Contains(strings.Split(verbs, "|"), r.Verb) {
			return false
		}
		if of, found := strings.CutSuffix(resource, "/*"); found {
			return r.Resource == of
		}
		return resource == "*" || r.target() == resource
	}
}

// Path chooses requests by the beginning of their path, such as "/openapi/".
func Path(prefix string) Match {
	return func(r Request) bool { return strings.HasPrefix(r.Path, prefix) }
}

// Fault is what goes wrong with a request.
type Fault struct {
	// Delay passes before the request is looked at.
	Delay time.Duration
	// Err is answered instead, as the API tells it; see package
	// k8s.io/apimachinery/pkg/api/errors.
	Err error
	// Drop breaks the connection before the request takes effect, and DropAfter when it
	// has taken effect, before the answer.
	Drop, DropAfter bool
	// Before is called first, without a lock held: it may write, as somebody else who is
	// faster.
	Before func()
	// Times is how many requests have the fault, zero for all.
	Times int
}

type fault struct {
	Fault

	match Match
	left  int
}

// Fail has a fault befall the requests that match, until the returned function is called.
func (s *Server) Fail(match Match, f Fault) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	this := &fault{f, match, f.Times}
	s.faults = append(s.faults, this)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.faults = slices.DeleteFunc(s.faults, func(f *fault) bool { return f == this })
	}
}

// admit logs a request, and has its faults befall it. after is what happens when the
// request has taken effect.
func (s *Server) admit(ctx context.Context, q Request) (after func(), err error) {
	s.mu.Lock()
	s.requests = append(s.requests, q)
	var faults []Fault
	for _, f := range s.faults {
		if f.match(q) && (f.Times == 0 || f.left > 0) {
			f.left--
			faults = append(faults, f.Fault)
		}
	}
	s.mu.Unlock()
	after = func() {}
	for _, f := range faults {
		if f.Before != nil {
			f.Before()
		}
		if f.Delay > 0 {
			select {
			case <-time.After(f.Delay):
			case <-ctx.Done():
				panic(http.ErrAbortHandler) // the client has hung up
			}
		}
		switch {
		case f.Drop:
			panic(http.ErrAbortHandler)
		case f.Err != nil:
			return nil, f.Err
		case f.DropAfter:
			after = func() { panic(http.ErrAbortHandler) }
		}
	}
	if s.forbidden(q) {
		return nil, forbid(q)
	}
	return after, nil
}

// Requests are those that the server has had and that match, nil for all, in their order.
func (s *Server) Requests(match Match) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Request
	for _, r := range s.requests {
		if match == nil || match(r) {
			all = append(all, r)
		}
	}
	return all
}

// Writes chooses the requests that are to change something, dry runs and questions about
// rights left out.
func Writes(r Request) bool {
	return r.Method != http.MethodGet && !r.dryRun() && !strings.HasSuffix(r.Resource, "reviews")
}

// Forget empties the list of requests.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}

// ErrAway is what a server says that is about to go, or to come.
func ErrAway() error { return apierrors.NewServiceUnavailable("the server is away") }
