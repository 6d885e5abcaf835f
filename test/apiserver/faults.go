package apiserver

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Match is a predicate that selects requests.
type Match func(Request) bool

// On matches requests by verb and resource. "|" separates verbs, and a subresource follows a slash. "*" matches any
// verb or any resource, and "pods/*" matches pods with any or no subresource: On("get|list", "pods"),
// On("patch", "deployments/scale"), On("*", "pods/*").
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

// Path matches requests whose path has a prefix, such as "/openapi/".
func Path(prefix string) Match {
	return func(r Request) bool { return strings.HasPrefix(r.Path, prefix) }
}

// Fault describes how a request fails.
type Fault struct {
	// Delay is the time before the server handles the request.
	Delay time.Duration
	// Err is the response: an error from package k8s.io/apimachinery/pkg/api/errors.
	Err error
	// Drop breaks the connection before the request takes effect. DropAfter breaks it afterwards,
	// but before the response.
	Drop, DropAfter bool
	// Before runs before the delay and the failure. The server is not locked, so Before can write objects.
	Before func()
	// Times is the number of requests that fail. Zero means all.
	Times int
}

type fault struct {
	Fault

	match Match
	left  int
}

// Fail injects a fault into the matching requests until the returned function is called.
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

// admit logs a request, and injects the matching faults. It returns the error of a fault, or an error if the request is
// forbidden. The caller must call after() when the request has taken effect.
func (s *Server) admit(ctx context.Context, r Request) (after func(), err error) {
	s.mu.Lock()
	s.requests = append(s.requests, r)
	var faults []Fault
	for _, f := range s.faults {
		if f.match(r) && (f.Times == 0 || f.left > 0) {
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
				panic(http.ErrAbortHandler) // the client closed the connection
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
	if s.forbidden(r) {
		return nil, forbid(r)
	}
	return after, nil
}

// Requests returns the matching requests so far, in order. A nil match selects all.
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

// Writes reports whether a request writes objects. A dry run or a review does not.
func Writes(r Request) bool {
	return r.Method != http.MethodGet && !r.dryRun() && !isReview(r)
}

// Forget clears the log of requests.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}
