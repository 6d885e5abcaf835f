package kube

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// maxPages is the maximum number of pages after the first page of a list. The pages can contain half
// a million objects, over three times the number of pods for which Kubernetes is designed.
const maxPages = 1000

// connection is the state of the server as a command observes it. It limits the time and memory that a broken server
// can cost. After a response that times out or does not end, the API group gets no more requests. If there was no
// earlier response, or if two groups in a row have timed out, no group gets more requests.
type connection struct {
	// patient means that the command waits for the server. All requests are sent, even to broken groups.
	patient atomic.Bool
	used    atomic.Bool  // the first request was sent
	held    atomic.Int64 // the total size in bytes of the responses in memory
	lists   atomic.Int64 // the number of paged lists
	paged   atomic.Int64 // the total size in bytes of their pages, as counted by addPage

	mu sync.Mutex
	// broken maps an API group to the reason why it gets no more requests. The key "" means all groups.
	broken    map[string]error
	silent    int       // the number of API groups that have timed out since the last response
	responded bool      // there was a valid response
	busySince time.Time // when the current series of responses with Retry-After began, or zero
}

type noResponseError struct{ timeout time.Duration }

func (e *noResponseError) Error() string { return fmt.Sprintf("no response within %s", e.timeout) }

// Timeout implements net.Error. Callers use it to recognize a timeout.
func (e *noResponseError) Timeout() bool { return true }

// Temporary is required by net.Error.
func (e *noResponseError) Temporary() bool { return true }

// refusal returns the reason why an API group gets no requests, or nil.
func (c *connection) refusal(group string) error {
	if c.patient.Load() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return cmp.Or(c.broken[""], c.broken[group])
}

// noteFailure marks an API group, or all groups, as broken after a timeout or a response that is too long.
func (c *connection) noteFailure(group string, err error) {
	silent := utilnet.IsTimeout(err)
	if bad, is := errors.AsType[*BadResponseError](err); !silent && (!is || !bad.tooLong) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken[group] == nil && silent {
		c.silent++
	}
	if !c.responded || c.silent > 1 {
		group = ""
	}
	if c.broken == nil {
		c.broken = map[string]error{}
	}
	c.broken[group] = err
}

// noteResponse records a valid response. client-go retries up to ten times, each time after the delay in
// Retry-After. When the delays would exceed the timeout, noteResponse deletes this header to end the retries.
func (c *connection) noteResponse(group string, resp *http.Response, timeout time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.responded, c.silent = true, 0
	delete(c.broken, group)
	delete(c.broken, "")
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

// addPage counts a page of a list. It returns an error if there are too many pages, or if they are
// too large. All lists together are limited to maxResponseBytes times the number of lists.
func (c *connection) addPage(req *http.Request, bytes int) error {
	query := req.URL.Query()
	switch {
	case query.Has("continue"):
		bytes = max(bytes, maxResponseBytes/maxPages)
	case query.Has("limit"):
		c.lists.Add(1)
	default:
		return nil
	}
	if c.paged.Add(int64(bytes)) > max(1, c.lists.Load())*maxResponseBytes {
		return &BadResponseError{Server: req.URL.Host, Problem: "kept returning more pages for " + req.URL.Path, tooLong: true}
	}
	return nil
}
