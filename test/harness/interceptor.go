package harness

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// Interceptor handles the requests from a controller to the server. next sends a request.
type Interceptor func(r *http.Request, next http.RoundTripper) (*http.Response, error)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// chain returns a transport that passes requests through the interceptors in order.
func chain(base http.RoundTripper, interceptors ...Interceptor) http.RoundTripper {
	for _, intercept := range slices.Backward(interceptors) {
		next := base
		base = roundTripper(func(r *http.Request) (*http.Response, error) { return intercept(r, next) })
	}
	return base
}

// IsWrite reports whether a request writes anything except events. The loss of an event is
// harmless.
func IsWrite(r *http.Request) bool {
	return r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/events")
}

// IsWatch reports whether a request is a watch.
func IsWatch(r *http.Request) bool { return r.URL.Query().Get("watch") != "" }

// Refuse returns a response that rejects a request.
func Refuse(r *http.Request, code int, reason, message string) *http.Response {
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`, message, reason, code)
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// LoseReply discards the response to a handled request, and returns an error.
func LoseReply(resp *http.Response, err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return nil, io.ErrUnexpectedEOF
}
