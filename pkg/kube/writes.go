package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// Writes counts the writes of a command that have no response yet.
type Writes struct{ unanswered atomic.Int64 }

// UnderWay reports whether a write has no response yet.
func (w *Writes) UnderWay() bool { return w.unanswered.Load() > 0 }

type writesKey struct{}

// Finish returns a context for writes. Canceling it does not cancel a write that has started, so
// that a user who interrupts a command still sees the result of the write.
func (w *Writes) Finish(ctx context.Context) context.Context {
	return context.WithValue(ctx, writesKey{}, w)
}

// write is like exchange, but returns an outcome.ErrUnknown after an error if the server may have
// carried out the write. It treats the status 504 as an error.
func (t *boundedTransport) write(req *http.Request, group string) (*http.Response, error) {
	if w, is := req.Context().Value(writesKey{}).(*Writes); is {
		if err := context.Cause(req.Context()); err != nil {
			closeBody(req)
			return nil, err // no write starts after an interrupt
		}
		w.unanswered.Add(1)
		defer w.unanswered.Add(-1)
		req = req.WithContext(context.WithoutCancel(req.Context()))
	}
	req, connected := traceConnection(req)
	resp, err := t.exchange(req, group)
	if err == nil && resp.StatusCode == http.StatusGatewayTimeout {
		words, _ := io.ReadAll(resp.Body) // cannot fail, because exchange has read the body into memory
		_ = resp.Body.Close()
		err = fmt.Errorf("%s: %s", resp.Status, strings.TrimSpace(string(words)))
	}
	if err == nil {
		return resp, nil
	}
	if bad, is := errors.AsType[*BadResponseError](err); connected() && (!is || bad.tooLong || bad.unusable) {
		err = fmt.Errorf("%w to a write, which the server may have carried out: %w", outcome.ErrUnknown, err)
	}
	return nil, err
}

// changes reports whether a request is a write. Dry runs do not count as writes, nor do queries
// that are sent as objects, such as a SelfSubjectAccessReview.
func changes(req *http.Request) bool {
	switch {
	case req.Method == http.MethodGet || req.Method == http.MethodHead || req.URL.Query().Has("dryRun"):
		return false
	case strings.Contains(req.URL.Path, "/apis/authorization.k8s.io/"), strings.Contains(req.URL.Path, "/apis/authentication.k8s.io/"):
		return false
	}
	return true
}

// traceConnection returns req with a trace, and a function that reports whether the request got a
// connection. Without a connection, nothing was sent. A failed TLS handshake is no connection. A
// transport that does not report connections counts as connected.
func traceConnection(req *http.Request) (*http.Request, func() bool) {
	var wanted, got atomic.Bool
	trace := &httptrace.ClientTrace{
		GetConn: func(string) { wanted.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { got.Store(true) },
	}
	return req.WithContext(httptrace.WithClientTrace(req.Context(), trace)), func() bool { return got.Load() || !wanted.Load() }
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close() // RoundTrip must close it; callers return an earlier error
	}
}
