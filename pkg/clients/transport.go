package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// defaultRequestTimeout is how long a request may take where --request-timeout
// is not given: as long as client-go allows discovery by default.
const defaultRequestTimeout = 32 * time.Second

// maxResponseBytes is how much of all responses together is held at a time. A
// page of 500 objects or the OpenAPI document of a large cluster is a few megabytes.
const maxResponseBytes = 256 << 20

// maxPages is how many further pages a list may have: half a million objects, three
// times the pods that a cluster of Kubernetes is built for.
const maxPages = 1000

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

// noResponseError says that the server did not respond in time.
type noResponseError struct{ timeout time.Duration }

func (e *noResponseError) Error() string {
	if e.timeout == 0 {
		return "no response"
	}
	return fmt.Sprintf("no response within %s", e.timeout)
}

// Timeout and Temporary make it a net.Error, by which callers know a timeout.
func (e *noResponseError) Timeout() bool { return true }

// Temporary has no meaning of its own.
func (e *noResponseError) Temporary() bool { return true }

// connection is what the clients of one command share: what they know of the
// server. It bounds the time and the memory that a broken server can cost.
//
// Until the server has responded for the first time, all requests share the
// timeout of one request. Then each request has its own. A request that times out
// marks its API group as silent, and no further request goes to that group. When
// two groups have gone silent without a response in between, none goes to any.
type connection struct {
	// held is how many bytes of responses are in memory.
	held atomic.Int64

	mu sync.Mutex
	// patient says that the command waits for a server to come back, so that
	// every request is sent.
	patient bool
	// responses counts the complete responses.
	responses int
	// waitingSince is when the first request after the last response was sent.
	waitingSince time.Time
	// busySince is when the server began to ask for retries.
	busySince time.Time
	// silent holds the groups that are silent, with the number of responses by then.
	silent map[string]int
	// tooLong is the error of a response that was too long, after which no
	// further request is sent.
	tooLong error
	// lists holds the lists that come in pages, by what they ask for.
	lists map[string]pages
}

// pages counts what was read of the lists of the same objects, whose pages cannot
// be told apart: the first page of each, further ones, and the bytes of all.
type pages struct{ first, further, bytes int }

// setPatient makes every request independent of those before. A watch does so,
// too: a command that watches goes on when the server comes back.
func (c *connection) setPatient() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.patient = true
}

func (c *connection) isPatient() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.patient
}

// begin notes that a request is about to be sent, and returns the time that it
// has, or why it should not be sent. A timeout of zero is no timeout.
func (c *connection) begin(group string, timeout time.Duration) (time.Duration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.waitingSince.IsZero() {
		c.waitingSince = now
	}
	switch {
	case c.patient:
		return timeout, nil
	case c.tooLong != nil:
		return 0, c.tooLong
	}
	left := timeout
	if timeout > 0 && c.responses == 0 {
		left = c.waitingSince.Add(timeout).Sub(now)
	}
	inARow := 0
	for _, responses := range c.silent {
		if responses == c.responses {
			inARow++
		}
	}
	_, silent := c.silent[group]
	if timeout > 0 && left <= 0 || silent || inARow > 1 || inARow > 0 && c.responses == 0 {
		return 0, &noResponseError{timeout: timeout}
	}
	return left, nil
}

// addPage notes a page of a list. A server that says of every page that another
// one follows gets an error in the end.
func (c *connection) addPage(req *http.Request, bytes int) error {
	query := req.URL.Query()
	further := query.Has("continue")
	if !further && !query.Has("limit") {
		return nil
	}
	for _, changing := range []string{"continue", "limit", "resourceVersion", "resourceVersionMatch"} {
		query.Del(changing)
	}
	list := req.URL.Path + "?" + query.Encode()
	c.mu.Lock()
	defer c.mu.Unlock()
	read := c.lists[list]
	if further {
		read.further++
	} else {
		read.first++
	}
	read.bytes += bytes
	if c.lists == nil {
		c.lists = map[string]pages{}
	}
	c.lists[list] = read
	if lists := max(1, read.first); read.further > lists*maxPages || read.bytes > lists*maxResponseBytes {
		return &BadResponseError{Server: req.URL.Host, Problem: "kept returning more pages for " + req.URL.Path, tooLong: true}
	}
	return nil
}

// failed notes why a request got no complete response.
func (c *connection) failed(group string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if bad, is := errors.AsType[*BadResponseError](err); is && bad.tooLong {
		c.tooLong = bad
	}
	if slow, is := errors.AsType[net.Error](err); !is || !slow.Timeout() {
		return
	}
	if c.silent == nil {
		c.silent = map[string]int{}
	}
	c.silent[group] = c.responses
}

// responded notes a complete response. client-go retries what the server asks it
// to retry, ten times and however long the server asks it to wait: it does not
// get to see the request for a retry that would exceed the timeout.
func (c *connection) responded(group string, resp *http.Response, timeout time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.responses++
	c.waitingSince = time.Time{}
	delete(c.silent, group)
	wait, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode < http.StatusInternalServerError {
		c.busySince = time.Time{}
		return
	}
	if c.busySince.IsZero() {
		c.busySince = now
	}
	if left := c.busySince.Add(timeout).Sub(now); timeout > 0 && float64(wait) >= left.Seconds() {
		resp.Header.Del("Retry-After")
	}
}

// boundedTransport sends requests through another transport, each for no longer
// than the timeout; zero is no timeout. It holds at most maxBytes of all responses.
type boundedTransport struct {
	*connection
	timeout  time.Duration
	maxBytes int64
	base     http.RoundTripper
}

// RoundTrip sends a request. The response to anything but a watch or the log of a
// container is read to its end, since callers log what goes wrong later.
func (t *boundedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	group, watch, log := groupOf(req.URL.Path), req.URL.Query().Has("watch"), isLog(req.URL.Path)
	left, err := t.begin(group, t.timeout)
	if err == nil {
		err = checkRedirect(req)
	}
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // a transport has to, and the other error is told
		}
		return nil, err
	}
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
