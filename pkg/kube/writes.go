package kube

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// Writes counts the writes of a command that the server has not answered yet.
type Writes struct{ unanswered atomic.Int64 }

// UnderWay reports whether a write is not answered yet.
func (w *Writes) UnderWay() bool { return w.unanswered.Load() > 0 }

type writesKey struct{}

// Finish returns a context whose writes are sent to their end even if the context is
// canceled, so that a person who interrupts a command learns what became of them.
func (w *Writes) Finish(ctx context.Context) context.Context {
	return context.WithValue(ctx, writesKey{}, w)
}

// write is exchange for a write. If there is no answer, the error is an
// outcome.ErrUnknown unless the server cannot have received the request.
func (t *boundedTransport) write(req *http.Request, group string, left time.Duration) (*http.Response, error) {
	if w, is := req.Context().Value(writesKey{}).(*Writes); is {
		if err := context.Cause(req.Context()); err != nil {
			closeBody(req)
			return nil, err // no write begins after an interrupt
		}
		w.unanswered.Add(1)
		defer w.unanswered.Add(-1)
		req = req.WithContext(context.WithoutCancel(req.Context()))
	}
	resp, err := t.exchange(req, group, left)
	if err == nil && resp.StatusCode == http.StatusGatewayTimeout {
		words, _ := io.ReadAll(resp.Body) // it has been read already
		_ = resp.Body.Close()
		err = fmt.Errorf("%s: %s", resp.Status, strings.TrimSpace(string(words)))
	}
	if err == nil {
		return resp, nil
	}
	if received(err) {
		err = fmt.Errorf("%w to a write, which the server may have carried out: %w", outcome.ErrUnknown, err)
	}
	return nil, err
}

// changes reports whether a request is a write. A dry run is none, nor is a question that
// has to be sent as an object, such as a SelfSubjectAccessReview.
func changes(req *http.Request) bool {
	switch {
	case req.Method == http.MethodGet || req.Method == http.MethodHead || req.URL.Query().Has("dryRun"):
		return false
	case strings.Contains(req.URL.Path, "/apis/authorization.k8s.io/"), strings.Contains(req.URL.Path, "/apis/authentication.k8s.io/"):
		return false
	}
	return true
}

// received reports whether a server may have received a request although this error took
// the place of its answer.
func received(err error) bool {
	var connect *net.OpError
	var untrusted *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	var bad *BadResponseError
	switch {
	case errors.As(err, &connect) && (connect.Op == "dial" || connect.Op == "proxyconnect"),
		errors.As(err, &untrusted), errors.As(err, &plain), errors.Is(err, http.ErrSchemeMismatch):
		return false
	case errors.As(err, &bad):
		return bad.tooLong
	}
	return true
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close() // a transport has to, and the other error is told
	}
}
