package kube

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// maxBytes limits the memory for all responses in these tests. It is several times partBytes.
// maxResponseBytes would make the tests too slow under the race detector.
const maxBytes = 16 * partBytes

// server is a transport that returns the response to a request. If the response is nil, the request times out.
type server func(*http.Request) *http.Response

func (s server) RoundTrip(req *http.Request) (*http.Response, error) {
	if resp := s(req); resp != nil {
		resp.Request = req
		return resp, nil
	}
	<-req.Context().Done()
	return nil, context.Cause(req.Context())
}

// bounded returns a transport with limits for a server.
func bounded(s server) *boundedTransport {
	return &boundedTransport{connection: &connection{}, timeout: time.Minute, maxBytes: maxBytes, base: s}
}

func response(code int, body io.Reader) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(body)}
}

func ok() *http.Response { return response(http.StatusOK, strings.NewReader("{}")) }

func send(t *testing.T, transport http.RoundTripper, path string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://server"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return transport.RoundTrip(req)
}

func ask(t *testing.T, transport http.RoundTripper, path string) (http.Header, error) {
	t.Helper()
	resp, err := send(t, transport, path)
	if err != nil {
		return nil, err
	}
	return resp.Header, resp.Body.Close()
}

// A server that does not respond delays a command by a limited number of timeouts, unless the command is patient.
// In this test, the server does not respond to paths that end in an exclamation mark.
func TestTimeoutsOfSilentServer(t *testing.T) {
	t.Parallel()
	const silent = "!"
	for name, test := range map[string]struct {
		paths    []string
		patient  bool
		timeouts time.Duration // a number, not a duration
		sent     int
	}{
		"all answered":                      {[]string{"/api", "/apis", "/version"}, false, 0, 3},
		"nothing answered":                  {[]string{"/api!", "/apis!", "/apis/a/v1!", "/version!"}, false, 1, 1},
		"nothing answered, patient command": {[]string{"/api!", "/api!", "/api!"}, true, 3, 3},
		"one group silent":                  {[]string{"/api", "/apis/a/v1!", "/apis/b/v1", "/apis/a/v1/x!", "/apis/b/v1"}, false, 1, 4},
		"silent after the first response":   {[]string{"/api", "/apis/a/v1!", "/apis/b/v1!", "/apis/c/v1!", "/apis/d/v1!"}, false, 2, 3},
		"two groups silent, not in a row":   {[]string{"/api", "/apis/a/v1!", "/apis/b/v1", "/apis/c/v1!", "/apis/b/v1"}, false, 2, 5},
		"a watch, and then silence":         {[]string{"/api?watch=true", "/api!", "/api!", "/api"}, false, 2, 4},
		"behind a prefix":                   {[]string{"/k8s/c/api", "/k8s/c/apis/a/v1!", "/k8s/c/apis/b/v1", "/k8s/c/apis/a/v1!"}, false, 1, 3},
	} {
		bubble.Test(t, func(t *testing.T) {
			sent := 0
			transport := bounded(func(req *http.Request) *http.Response {
				sent++
				if strings.HasSuffix(req.URL.Path, silent) {
					return nil
				}
				return ok()
			})
			transport.patient.Store(test.patient)
			begun := time.Now()
			for _, path := range test.paths {
				_, err := ask(t, transport, path)
				if slow, is := errors.AsType[net.Error](err); (err != nil) != strings.HasSuffix(path, silent) || err != nil && (!is || !slow.Timeout()) {
					t.Errorf("%s: %s: error = %v", name, path, err)
				}
			}
			if took := time.Since(begun); took != test.timeouts*time.Minute || sent != test.sent {
				t.Errorf("%s: took %s and %d requests, want %d times the timeout and %d", name, took, sent, test.timeouts, test.sent)
			}
		})
	}
}

// If a caller's own deadline ends a request before the timeout, this does not count as a failure of the server.
func TestShortDeadlineOfACaller(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		transport := bounded(func(req *http.Request) *http.Response {
			if strings.HasSuffix(req.URL.Path, "/log") {
				return nil
			}
			return ok()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		req := httptest.NewRequestWithContext(ctx, http.MethodGet, "https://server/api/v1/namespaces/a/pods/b/log", http.NoBody)
		resp, err := transport.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error of the log: %v, want a deadline", err)
		}
		if _, err := ask(t, transport, "/api/v1/pods"); err != nil {
			t.Errorf("the next request of the group failed: %v", err)
		}
	})
}

// A list can have many pages, but addPage limits the total size of the pages of all lists.
func TestPagesOfLists(t *testing.T) {
	t.Parallel()
	const pods = "/api/v1/namespaces/a/pods"
	for name, test := range map[string]struct {
		begun   int // the number of lists that are read at the same time
		further int // the number of pages after the first ones, in all lists
		bytes   int // the size of each page
		refused bool
	}{
		"as many as allowed":                   {begun: 1, further: maxPages},
		"one more than allowed":                {begun: 1, further: maxPages + 1, refused: true},
		"two lists, as many as allowed":        {begun: 2, further: 2 * maxPages},
		"two lists, one more than allowed":     {begun: 2, further: 2*maxPages + 1, refused: true},
		"a list whose first page had no limit": {begun: 0, further: maxPages + 1, refused: true},
		"large pages":                          {begun: 1, further: 3, bytes: maxResponseBytes / 4},
		"one large page too many":              {begun: 1, further: 4, bytes: maxResponseBytes / 4, refused: true},
	} {
		c := &connection{}
		var err error
		for page := range test.begun + test.further {
			query := "?limit=500&labelSelector=a"
			if page >= test.begun {
				query += fmt.Sprintf("&resourceVersion=%d&continue=%d", page, page)
			}
			req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://server"+pods+query, nil)
			if err != nil {
				t.Fatalf("%s: refused before the last page", name)
			}
			err = c.addPage(req, test.bytes)
		}
		if bad, is := errors.AsType[*BadResponseError](err); (err != nil) != test.refused || err != nil && (!is || !bad.tooLong) {
			t.Errorf("%s: error of the last page = %v", name, err)
		}
	}
}

// The transport deletes Retry-After if it would make client-go wait longer than the timeout in total.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		code    int
		seconds string
		timeout time.Duration
		since   time.Duration // the time since the first Retry-After
		seen    bool
	}{
		"soon":                                  {http.StatusTooManyRequests, "1", time.Minute, 0, true},
		"in an hour":                            {http.StatusTooManyRequests, "3600", time.Minute, 0, false},
		"unavailable for an hour":               {http.StatusServiceUnavailable, "3600", time.Minute, 0, false},
		"in an hour, without a timeout":         {http.StatusTooManyRequests, "3600", 0, 0, true},
		"soon, for most of the timeout":         {http.StatusTooManyRequests, "1", time.Minute, 58 * time.Second, true},
		"soon, for the whole timeout":           {http.StatusTooManyRequests, "1", time.Minute, time.Minute, false},
		"in more seconds than a duration holds": {http.StatusTooManyRequests, "9223372036854775807", time.Minute, 0, false},
		"in an hour, 201 Created":               {http.StatusCreated, "3600", time.Minute, 0, true},
	} {
		bubble.Test(t, func(t *testing.T) {
			transport := bounded(func(*http.Request) *http.Response {
				resp := response(test.code, strings.NewReader("{}"))
				resp.Header.Set("Retry-After", test.seconds)
				return resp
			})
			transport.timeout = test.timeout
			if test.since > 0 {
				if _, err := ask(t, transport, "/api"); err != nil {
					t.Fatal(err)
				}
				<-time.After(test.since)
			}
			header, err := ask(t, transport, "/api")
			if err != nil || (header.Get("Retry-After") != "") != test.seen {
				t.Errorf("%s: error %v, header %v", name, err, header)
			}
		})
	}
}

// endless is a reader that repeats a text, and pauses before each read. Like a body in net/http, it ends with the
// context of its request.
type endless struct {
	req   *http.Request
	piece string
	pause time.Duration
}

func (e endless) Read(p []byte) (int, error) {
	<-time.After(e.pause)
	return copy(p, e.piece), e.req.Context().Err()
}

// The transport returns an error for an endless response, and releases its bytes.
func TestResponseWithoutEnd(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pause   time.Duration
		patient bool
		problem string
	}{
		"fast":                         {0, false, "sent more than 16 MiB"},
		"slow":                         {time.Second, false, "no response within 1m0s"},
		"slow, patient command":        {time.Second, true, "no response within 1m0s"},
		"each part within the timeout": {20 * time.Millisecond, true, "sent more than 16 MiB"},
	} {
		bubble.Test(t, func(t *testing.T) {
			transport := bounded(func(req *http.Request) *http.Response {
				return response(http.StatusOK, endless{req, strings.Repeat("x", 512), test.pause})
			})
			transport.patient.Store(test.patient)
			if _, err := ask(t, transport, "/api"); err == nil || !strings.Contains(err.Error(), test.problem) {
				t.Errorf("%s: error = %v", name, err)
			}
			if held := transport.held.Load(); held != 0 {
				t.Errorf("%s: %d bytes are still counted, want 0", name, held)
			}
		})
	}
}

// The transport limits the number and depth of JSON values, because compressed kilobytes can contain millions of them.
func TestManyValues(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ unit, want string }{
		"values": {",", "more than 8 million values"}, "objects": {"{},", "more than 8 million values"}, "depth": {`{"":`, "a depth of more than 200"},
	} {
		for _, path := range []string{"/api", "/api?watch=true"} {
			body := bytes.Repeat([]byte(test.unit), maxValues+1)
			transport := bounded(func(*http.Request) *http.Response { return response(http.StatusOK, bytes.NewReader(body)) })
			transport.maxBytes = 8 * maxValues
			resp, err := send(t, transport, path)
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s, %s: error = %v", name, path, err)
			}
		}
	}
}

// jsonBounds ignores the contents of strings. The count of values restarts at each event.
func TestJSONBounds(t *testing.T) {
	t.Parallel()
	var b jsonBounds
	event := []byte(`{"a":"` + strings.Repeat(`[{,\"\\`, maxDepth) + `","b":[1,2]}` + "\n")
	if what := b.exceeded(event[:10]) + b.exceeded(event[10:]); what != "" || b != (jsonBounds{}) {
		t.Errorf("exceeded = %q, bounds after the event = %+v, want none exceeded and a reset", what, b)
	}
}

// The limit applies to the size of the decompressed response.
func TestCompressedResponse(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		zip := gzip.NewWriter(w)
		_, _ = io.CopyN(zip, endless{req, strings.Repeat(" ", 4096), 0}, 2*maxBytes) // fails when the client closes the connection
	}))
	t.Cleanup(server.Close)
	transport := bounded(nil)
	transport.base = http.DefaultTransport
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api", nil)
	req.RequestURI = ""
	resp, err := transport.RoundTrip(req)
	if err == nil {
		err = resp.Body.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "sent more than 16 MiB") {
		t.Errorf("error = %v, want \"sent more than 16 MiB\"", err)
	}
}

// Container logs have no time or size limit. Responses to other paths, even similar ones, are
// limited. In a watch, the limit applies to each event, not to all events together.
func TestLongStreams(t *testing.T) {
	t.Parallel()
	const watch, text = "/api?watch=true", "no line ends "
	for name, test := range map[string]struct {
		path, piece string
		ends        bool
	}{
		"a followed log":        {"/api/v1/namespaces/default/pods/foo-0/log?follow=true", text, false},
		"a log behind a prefix": {"/k8s/c/api/v1/namespaces/default/pods/foo-0/log", text, false},
		"a ConfigMap named log": {"/api/v1/namespaces/default/configmaps/log", text, true},
		"many events":           {watch, strings.Repeat("x", 4<<10-1) + "\n", false},
		"one endless event":     {watch, strings.Repeat("x", 4<<10), true},
	} {
		bubble.Test(t, func(t *testing.T) {
			transport := bounded(func(req *http.Request) *http.Response {
				resp := response(http.StatusOK, endless{req, strings.Repeat(test.piece, 32<<10/len(test.piece)), time.Millisecond})
				if strings.HasSuffix(req.URL.Path, "log") {
					resp.Header.Set("Content-Type", "text/plain")
				}
				return resp
			})
			resp, err := send(t, transport, test.path)
			if err == nil {
				_, err = io.CopyN(io.Discard, resp.Body, maxBytes+partBytes)
				_ = resp.Body.Close()
			}
			if (err != nil) != test.ends {
				t.Errorf("%s: error = %v", name, err)
			}
		})
	}
}

// The transport does not follow redirects to another server, or redirects that turn a write into a read.
func TestRedirects(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		method, to string
		code       int
		followed   bool
	}{
		"to the same server":          {http.MethodGet, "http://server/openapi/v3/b", http.StatusMovedPermanently, true},
		"to another port":             {http.MethodGet, "http://server:81/api", http.StatusFound, false},
		"to another host":             {http.MethodGet, "http://other/api", http.StatusTemporaryRedirect, false},
		"to another scheme":           {http.MethodGet, "https://server/api", http.StatusFound, false},
		"a write that stays a write":  {http.MethodPatch, "http://server/b", http.StatusTemporaryRedirect, true},
		"a write that becomes a read": {http.MethodPatch, "http://server/b", http.StatusFound, false},
	} {
		transport := bounded(func(req *http.Request) *http.Response {
			if req.URL.Path == "/a" {
				resp := response(test.code, strings.NewReader(""))
				resp.Header.Set("Location", test.to)
				return resp
			}
			return ok()
		})
		req, err := http.NewRequestWithContext(t.Context(), test.method, "http://server/a", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&http.Client{Transport: transport}).Do(req)
		if (err == nil) != test.followed {
			t.Fatalf("%s: error = %v", name, err)
		}
		if err == nil {
			_ = resp.Body.Close()
		} else if bad, is := errors.AsType[*BadResponseError](err); !is || bad.Server != "server" {
			t.Errorf("%s: error = %v, want BadResponseError of the server", name, err)
		}
	}
}

// A successful response must be JSON, protobuf, or CBOR. Servers may declare JSON as text, as they do for
// OpenAPI documents. If an error is a web page, the page is replaced with one line.
func TestFormats(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		code         int
		format, body string
		want         string // the body, or "" if the response is rejected
	}{
		"JSON":                   {http.StatusOK, "application/json; charset=utf-8", "{}", "{}"},
		"JSON, as text":          {http.StatusOK, "text/plain; charset=utf-8", "{}", "{}"},
		"protobuf":               {http.StatusOK, "application/vnd.kubernetes.protobuf", "k8s\x00", "k8s\x00"},
		"invalid JSON":           {http.StatusOK, "application/json", "{", ""},
		"text":                   {http.StatusOK, "text/plain", "ok", ""},
		"a web page":             {http.StatusOK, "text/html", "<html>", ""},
		"an error":               {http.StatusInternalServerError, "text/plain", "no", "no"},
		"an error as a web page": {http.StatusBadGateway, "text/html", "<html>\n<p>", "a web page, Bad Gateway"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			transport := bounded(func(*http.Request) *http.Response {
				resp := response(test.code, strings.NewReader(test.body))
				resp.Status = http.StatusText(test.code)
				resp.Header.Set("Content-Type", test.format)
				return resp
			})
			resp, err := send(t, transport, "/api")
			if err != nil {
				if _, is := errors.AsType[*BadResponseError](err); !is || test.want != "" {
					t.Errorf("unexpected error %v", err)
				}
				return
			}
			defer func() { _ = resp.Body.Close() }()
			if body, err := io.ReadAll(resp.Body); err != nil || string(body) != test.want {
				t.Errorf("body = %q, error %v", body, err)
			}
		})
	}
}

// objectPath finds a name only in paths of objects and of their status and scale.
func TestObjectPath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string][2]string{
		"/api/v1/namespaces/a/pods/b":                           {"a", "b"},
		"/apis/apps/v1/namespaces/a/deployments/b":              {"a", "b"},
		"/apis/apps/v1/namespaces/a/deployments/b/scale":        {"a", "b"},
		"/k8s/c/apis/apps/v1/namespaces/a/deployments/b/status": {"a", "b"},
		"/api/v1/nodes/b":                                       {"", "b"},
		"/api/v1/namespaces/b":                                  {"", "b"},
		"/api/v1/namespaces/b/pods":                             {"b", ""},
		"/api/v1/namespaces/a/pods/b/log":                       {"a", ""},
		"/apis/apps/v1/namespaces/a/deployments":                {"a", ""},
		"/apis/apps/v1/deployments":                             {},
		"/apis/apps/v1":                                         {},
		"/apis":                                                 {},
		"/api/":                                                 {},
		"/openapi/v3/apis/apps/v1":                              {},
		"/api/clusters/c/api":                                   {},
		"/api/clusters/c/api/v1/namespaces/a/pods/b":            {"a", "b"},
		"/api/k8s/openapi/v3":                                   {},
		"/apis/p/q/apis/apps/v1/namespaces/a/deployments/b":     {}, // the response is not checked
		"/version": {},
		"":         {},
	} {
		var got [2]string
		if parts := objectPath.FindStringSubmatch(path); parts != nil {
			got = [2]string(parts[1:])
		}
		if got != want {
			t.Errorf("%s: namespace and name are %q, want %q", path, got, want)
		}
	}
}

// The response to a create must have the name from the request body and the namespace from the path.
func TestResponseToCreate(t *testing.T) {
	t.Parallel()
	for answer, refused := range map[string]bool{
		`{"metadata":{"name":"b","namespace":"a"}}`:     false,
		`{"metadata":{"name":"other","namespace":"a"}}`: true,
		`{"metadata":{"name":"b","namespace":"other"}}`: true,
		`{"kind":"Status"}`:                             true,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://server/apis/apps/v1/namespaces/a/deployments", strings.NewReader(`{"metadata":{"name":"b"}}`))
		if err != nil {
			t.Fatal(err)
		}
		resp := &http.Response{StatusCode: http.StatusCreated, Header: http.Header{"Content-Type": {"application/json"}}, Request: req}
		if err := checkObject(resp, []byte(answer)); (err != nil) != refused {
			t.Errorf("response %s: error = %v", answer, err)
		}
	}
}
