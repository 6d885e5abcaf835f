package kube

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// defaultRequestTimeout is the default of --request-timeout. client-go uses the same timeout for discovery.
const defaultRequestTimeout = 32 * time.Second

// maxResponseBytes limits the total size of the responses in memory. A page of 500 objects, or the
// OpenAPI document of a large cluster, takes a few megabytes.
const maxResponseBytes = 256 << 20

// partBytes is the number of bytes after which the timeout of a long response restarts.
const partBytes = 1 << 20

// BadResponseError reports a response that a Kubernetes API server would not send.
type BadResponseError struct {
	// Server is the host and port. Problem completes the message "the server HOST …".
	Server  string
	Problem string

	tooLong bool
	// unusable means that the Content-Type is JSON, but the body is not JSON or not the requested object.
	unusable bool
}

func (e *BadResponseError) Error() string { return "the server " + e.Server + " " + e.Problem }

// boundedTransport sends requests through another transport, and limits their time and memory.
type boundedTransport struct {
	*connection
	timeout  time.Duration // of each request; zero means no timeout
	maxBytes int64         // the maximum total size of all responses in memory
	base     http.RoundTripper
}

// RoundTrip sends a request if its API group is not broken. Except for a watch or a log, it reads
// the whole response, so that errors in the body fail the request.
func (t *boundedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	t.used.Store(true)
	group := groupOf(req.URL.Path)
	// No request starts after its context has ended: a write would then outlive the context.
	if err := cmp.Or(t.refusal(group), checkRedirect(req), context.Cause(req.Context())); err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // RoundTrip must close the body; the caller gets err instead
		}
		return nil, err
	}
	if changes(req) {
		return t.write(req, group)
	}
	return t.exchange(req, group)
}

// exchange sends a request and records the result. For a watch or a followed log, it sets patient.
func (t *boundedTransport) exchange(req *http.Request, group string) (*http.Response, error) {
	watch, log := req.URL.Query().Has("watch"), isLog(req.URL.Path)
	if watch || req.URL.Query().Has("follow") {
		t.patient.Store(true) // the watch is resumed when the server responds again
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(cmp.Or(t.timeout, math.MaxInt64), func() { cancel(&noResponseError{timeout: t.timeout}) })
	end := func() { timer.Stop(); cancel(nil) }
	resp, err := t.base.RoundTrip(req.WithContext(ctx))
	if err == nil {
		body := &boundedBody{ReadCloser: resp.Body, server: req.URL.Host, held: &t.held, maxBytes: t.maxBytes, end: end}
		resp.Body = body
		body.json = mediaType(resp) == "application/json"
		err = checkFormat(resp)
		if err == nil && (watch || log) && resp.StatusCode == http.StatusOK {
			timer.Stop()
			body.lines, body.passedOn = watch, log
		} else if err == nil {
			err = t.readBody(resp, body, timer)
		}
		if err == nil {
			t.noteResponse(group, resp, t.timeout)
			return resp, nil
		}
		_ = body.Close() // the caller gets err instead
	}
	if none, is := errors.AsType[*noResponseError](context.Cause(ctx)); is {
		err = none
	}
	end()
	if req.Context().Err() == nil { // the caller's context did not end the request
		t.noteFailure(group, err)
	}
	return nil, err
}

// readBody reads and checks a whole response. If the command is patient, the timeout restarts after
// each part, so that a controller can read long lists.
func (t *boundedTransport) readBody(resp *http.Response, body *boundedBody, timer *time.Timer) error {
	if t.timeout > 0 && t.patient.Load() {
		body.partRead = func() { timer.Reset(t.timeout) }
	}
	data, err := io.ReadAll(body)
	timer.Stop()
	if err != nil {
		return err
	}
	switch format := mediaType(resp); {
	case (format == "application/json" || format == "text/plain") && resp.StatusCode < http.StatusMultipleChoices && !json.Valid(data):
		return &BadResponseError{Server: resp.Request.URL.Host, Problem: "sent a response that is not valid JSON", unusable: format == "application/json"}
	case format == "text/html" && resp.StatusCode >= http.StatusBadRequest:
		// Errors quote the body, so the page is replaced with one line.
		data = []byte("a web page, " + resp.Status)
		resp.Header.Set("Content-Type", "text/plain")
	}
	if err := t.addPage(resp.Request, len(data)); err != nil {
		return err
	}
	if err := checkObject(resp, data); err != nil {
		return err
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(data), body}
	return nil
}

// boundedBody is the body of a response. Its bytes count as held from Read until Close or, in a watch,
// until the end of the line, which is one event.
type boundedBody struct {
	io.ReadCloser
	server   string
	held     *atomic.Int64
	maxBytes int64
	mine     atomic.Int64 // the held bytes of this body; Close may run during a Read of a watch
	lines    bool
	json     bool
	bounds   jsonBounds
	passedOn bool   // the body is a log: its bytes do not count, because callers do not keep them
	partRead func() // if set, called after each partBytes of the body
	end      func() // stops the timeout and cancels the request
}

// Read returns an error if the JSON exceeds a limit, or if all bodies together hold more than maxBytes.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.passedOn {
		return n, err
	}
	if b.lines && bytes.IndexByte(p[:n], '\n') >= 0 {
		b.release()
	}
	if b.json {
		if what := b.bounds.exceeded(p[:n]); what != "" {
			return 0, &BadResponseError{Server: b.server, Problem: "sent " + what, tooLong: true}
		}
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
	b.end()
	return b.ReadCloser.Close()
}

func isLog(path string) bool {
	rest, is := strings.CutSuffix(path, "/log")
	return is && strings.Contains(rest, "/api/v1/namespaces/") && strings.Contains(rest, "/pods/")
}

// groupOf returns the API group of a path. Paths without a group, such as /apis and /version, belong to "core".
func groupOf(path string) string {
	_, rest, _ := strings.Cut(path, "/apis/")
	group, _, _ := strings.Cut(rest, "/")
	return cmp.Or(group, "core")
}

// checkRedirect rejects redirects that would send the credentials to another server, or turn a write into a read.
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

// checkFormat returns an error if a successful response has a format that the Kubernetes API does
// not use, such as HTML for a login page. Servers send OpenAPI documents as text/plain.
func checkFormat(resp *http.Response) error {
	format := mediaType(resp)
	if resp.StatusCode < http.StatusOK || resp.StatusCode >= http.StatusMultipleChoices || format == "" ||
		slices.Contains([]string{"application/json", "text/plain", "application/vnd.kubernetes.protobuf", "application/cbor", "application/cbor-seq"}, format) {
		return nil
	}
	return &BadResponseError{Server: resp.Request.URL.Host, Problem: fmt.Sprintf("sent %s, which is not a format of the Kubernetes API", format)}
}

// checkObject rejects a successful response whose object is not the requested one. Otherwise, callers
// would change the wrong object, or report it as changed.
func checkObject(resp *http.Response, data []byte) error {
	req := resp.Request
	if resp.StatusCode >= http.StatusMultipleChoices || mediaType(resp) != "application/json" {
		return nil
	}
	namespace, name := "", ""
	if parts := objectPath.FindStringSubmatch(req.URL.Path); parts != nil {
		namespace, name = parts[1], parts[2]
	}
	if req.Method == http.MethodPost && req.GetBody != nil {
		var sent metav1.PartialObjectMetadata
		if body, err := req.GetBody(); err == nil && json.NewDecoder(body).Decode(&sent) == nil { // protobuf is not checked
			name = sent.Name
		}
	}
	if name == "" {
		return nil
	}
	var got metav1.PartialObjectMetadata
	err := json.Unmarshal(data, &got)
	if err == nil && (got.Name == name && (got.Namespace == "" || got.Namespace == namespace) || got.Kind == "Status" && req.Method == http.MethodDelete) {
		return nil
	}
	return &BadResponseError{Server: req.URL.Host, Problem: fmt.Sprintf("answered %s %s with another object", req.Method, req.URL.Path), unusable: true}
}

// objectPath matches the path of a resource. Its submatches are the namespace and the name of an object, whose path
// may end in /status or /scale. The server's own path, if any, comes first, and may itself begin with /api.
var objectPath = regexp.MustCompile(`/(?:api/v1|apis/[^/]+/[^/]+)(?:/namespaces/([^/]+))?/[^/]+(?:/([^/]+)(?:/status|/scale)?|/.*)?$`)

func mediaType(resp *http.Response) string {
	format, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return format
}
