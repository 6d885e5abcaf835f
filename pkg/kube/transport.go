package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// defaultRequestTimeout is how long a request may take where --request-timeout
// is not given: as long as client-go allows discovery by default.
const defaultRequestTimeout = 32 * time.Second

// maxResponseBytes is how much of all responses together is held at a time. A
// page of 500 objects or the OpenAPI document of a large cluster is a few megabytes.
const maxResponseBytes = 256 << 20

// partBytes is how much of a long response has to arrive within a timeout.
const partBytes = 1 << 20

// BadResponseError says that a response is not what a Kubernetes API server sends.
type BadResponseError struct {
	// Server is the host and port that it came from.
	Server  string
	Problem string

	tooLong bool
}

func (e *BadResponseError) Error() string { return "the server " + e.Server + " " + e.Problem }

// boundedTransport sends requests through another transport, each for no longer
// than the timeout; zero is no timeout. It holds at most maxBytes of all responses.
type boundedTransport struct {
	*connection
	timeout  time.Duration
	maxBytes int64
	base     http.RoundTripper
}

// RoundTrip sends a request, unless there is no time left for it. The response to anything but a watch or the log of a
// container is read to its end, since callers log what goes wrong later.
func (t *boundedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	group := groupOf(req.URL.Path)
	left, err := t.begin(group, t.timeout)
	if err == nil {
		err = checkRedirect(req)
	}
	if err != nil {
		closeBody(req)
		return nil, err
	}
	if changes(req) {
		return t.write(req, group, left)
	}
	return t.exchange(req, group, left)
}

// exchange sends a request to a group for which so much time is left, and returns the
// response. Zero is no limit.
func (t *boundedTransport) exchange(req *http.Request, group string, left time.Duration) (*http.Response, error) {
	watch, log := req.URL.Query().Has("watch"), isLog(req.URL.Path)
	if watch || req.URL.Query().Has("follow") {
		t.setPatient()
	}
	if left == 0 {
		left = math.MaxInt64
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(left, func() { cancel(&noResponseError{timeout: t.timeout}) })
	resp, err := t.base.RoundTrip(req.WithContext(ctx))
	if err == nil {
		body := &boundedBody{ReadCloser: resp.Body, server: req.URL.Host, held: &t.held, maxBytes: t.maxBytes, cancel: func() { timer.Stop(); cancel(nil) }}
		resp.Body = body
		if err = checkFormat(resp); err == nil && (watch || log) && resp.StatusCode == http.StatusOK {
			timer.Stop()
			body.lines, body.passedOn = watch, log
		} else if err == nil {
			err = t.readBody(resp, body, timer)
		}
		if err != nil {
			_ = body.Close() // the other error is told
		}
	} else {
		timer.Stop()
		cancel(nil)
	}
	if err == nil {
		t.responded(group, resp, t.timeout)
		return resp, nil
	}
	if none, is := errors.AsType[*noResponseError](context.Cause(ctx)); is {
		err = none
	}
	t.failed(group, err)
	return nil, err
}

// readBody reads a response to its end. Where the command is patient, each part of
// it has the timeout to itself: a controller reads long lists.
func (t *boundedTransport) readBody(resp *http.Response, body *boundedBody, timer *time.Timer) error {
	if t.timeout > 0 && t.isPatient() {
		body.partRead = func() { timer.Reset(t.timeout) }
	}
	data, err := io.ReadAll(body)
	timer.Stop()
	if err != nil {
		return err
	}
	switch format := mediaType(resp); {
	case (format == "application/json" || format == "text/plain") && resp.StatusCode < http.StatusMultipleChoices && !json.Valid(data):
		return &BadResponseError{Server: resp.Request.URL.Host, Problem: "sent a response that is not valid JSON"}
	case format == "text/html" && resp.StatusCode >= http.StatusBadRequest:
		// The error will quote it: one line, not the page.
		data = []byte("a web page, " + resp.Status)
		resp.Header.Set("Content-Type", "text/plain")
	}
	if err := t.addPage(resp.Request, len(data)); err != nil {
		return err
	}
	body.data = bytes.NewReader(data)
	return nil
}

// boundedBody is the body of a response. What is read of it counts as held until
// it is closed or, of a watch, until the line ends, which is one event.
type boundedBody struct {
	io.ReadCloser
	server   string
	held     *atomic.Int64
	maxBytes int64
	mine     atomic.Int64 // a watch is closed while it is read
	lines    bool
	// passedOn says that nothing of it is held: a log is passed on as it is read.
	passedOn bool
	// partRead, if there is one, is called for each part of the body.
	partRead func()
	cancel   func()
	data     *bytes.Reader // all of it, once it was read
}

// Read reads some more, unless too much is held.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.data != nil {
		return b.data.Read(p)
	}
	n, err := b.ReadCloser.Read(p)
	if b.passedOn {
		return n, err
	}
	if b.lines && bytes.IndexByte(p[:n], '\n') >= 0 {
		b.release()
	}
	mine := b.mine.Add(int64(n))
	if b.partRead != nil && (mine-int64(n))/partBytes < mine/partBytes {
		b.partRead()
	}
	if b.held.Add(int64(n)) > b.maxBytes {
		return 0, &BadResponseError{Server: b.server, Problem: fmt.Sprintf("sent more than %d MiB", b.maxBytes>>20), tooLong: true}
	}
	return n, err
}

func (b *boundedBody) release() { b.held.Add(-b.mine.Swap(0)) }

// Close ends the request.
func (b *boundedBody) Close() error {
	b.release()
	b.cancel()
	return b.ReadCloser.Close()
}

// isLog reports whether a path is that of the log of a container.
func isLog(path string) bool {
	rest, is := strings.CutSuffix(path, "/log")
	return is && strings.Contains(rest, "/api/v1/namespaces/") && strings.Contains(rest, "/pods/")
}

// groupOf returns the API group that a path of the server belongs to, or what it
// begins with.
func groupOf(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		switch {
		case part == "apis" && i+1 < len(parts):
			return part + "/" + parts[i+1]
		case part == "api" || part == "apis" || part == "openapi":
			return part
		}
	}
	return path
}

// checkRedirect refuses redirects to another server, which would get the
// credentials, and those that make another method of a write.
func checkRedirect(req *http.Request) error {
	if req.Response == nil || req.Response.Request == nil {
		return nil
	}
	from := req.Response.Request
	if from.URL.Host == req.URL.Host && from.URL.Scheme == req.URL.Scheme && from.Method == req.Method {
		return nil
	}
	return &BadResponseError{Server: from.URL.Host, Problem: fmt.Sprintf("redirected %s %s to %s://%s, which is not followed", from.Method, from.URL.Path, req.URL.Scheme, req.URL.Host)}
}

// checkFormat refuses a success in a format that the Kubernetes API does not
// have, such as a login page. OpenAPI documents come as JSON in text/plain.
func checkFormat(resp *http.Response) error {
	format := mediaType(resp)
	if resp.StatusCode < http.StatusOK || resp.StatusCode >= http.StatusMultipleChoices || format == "" ||
		slices.Contains([]string{"application/json", "text/plain", "application/vnd.kubernetes.protobuf", "application/cbor", "application/cbor-seq"}, format) {
		return nil
	}
	return &BadResponseError{Server: resp.Request.URL.Host, Problem: fmt.Sprintf("sent %s, which is not a format of the Kubernetes API", format)}
}

func mediaType(resp *http.Response) string {
	format, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return format
}
