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
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// interruptGrace is how long a command has after Ctrl-C to restore the terminal.
const interruptGrace = 500 * time.Millisecond

// unanswered is the context key of the number of writes that have no response yet.
type unanswered struct{}

// Interruptible calls run, and returns soon after ctx ends, even during discovery or in a credential plugin, which
// ignore the context. If a write has started, it first waits for the response, so that run can report the result.
func Interruptible(ctx context.Context, out io.Writer, run func(context.Context) error) error {
	var writes atomic.Int64
	ended := make(chan error, 1)
	go func() { ended <- run(context.WithValue(ctx, unanswered{}, &writes)) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	for told := false; ; {
		before := writes.Load() > 0
		select {
		case err := <-ended:
			return err
		case <-time.After(interruptGrace):
		}
		switch writing := writes.Load() > 0; {
		case !before && !writing:
			return context.Cause(ctx)
		case before && writing && !told:
			told = true
			_ = escape.PrintLine(out, "waiting for the answer to a write; to exit at once, press Ctrl-C again")
		}
	}
}

// write is like exchange, but its error wraps outcome.ErrUnknown if the write might have been executed, as after a 504.
func (t *boundedTransport) write(req *http.Request, group string) (*http.Response, error) {
	if writes, is := req.Context().Value(unanswered{}).(*atomic.Int64); is {
		writes.Add(1)
		defer writes.Add(-1)
		req = req.WithContext(context.WithoutCancel(req.Context()))
	}
	req, connected := traceConnection(req)
	resp, err := t.exchange(req, group)
	if err == nil && (resp.StatusCode == http.StatusGatewayTimeout || resp.StatusCode == http.StatusBadGateway) {
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

// changes reports whether a request is a write. Dry runs and queries such as a SelfSubjectAccessReview are not writes.
func changes(req *http.Request) bool {
	path := req.URL.Path
	asks := strings.Contains(path, "/apis/authorization.k8s.io/") || strings.Contains(path, "/apis/authentication.k8s.io/")
	return !asks && req.Method != http.MethodGet && req.Method != http.MethodHead && !req.URL.Query().Has("dryRun")
}

// traceConnection returns req with a trace, and a function that reports whether the request got a
// connection. Without a connection, nothing was sent. A connection whose TLS handshake failed does
// not count. If a transport does not report connections, the function returns true.
func traceConnection(req *http.Request) (*http.Request, func() bool) {
	var wanted, got atomic.Bool
	trace := &httptrace.ClientTrace{
		GetConn: func(string) { wanted.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { got.Store(true) },
	}
	return req.WithContext(httptrace.WithClientTrace(req.Context(), trace)), func() bool { return got.Load() || !wanted.Load() }
}
