package kube

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// maxPages is how many pages may follow the first one of a list: half a million objects,
// three times the pods that a Kubernetes cluster is built for.
const maxPages = 1000

// connection is the state of the server as one command sees it. It limits the time and memory that
// a broken server can cost: an API group that does not respond in time, or responds without end,
// gets no further requests. Until the server has responded once, and after two groups in a row have
// timed out, this applies to all groups.
type connection struct {
	// patient means that the command waits for a server to come back, so that every request is
	// sent.
	patient atomic.Bool
	// held is the number of bytes of responses in memory.
	held atomic.Int64
	// lists and paged count the lists that came in pages, and the bytes of all pages.
	lists, paged atomic.Int64

	mu sync.Mutex
	// broken maps an API group to the reason why it gets no further requests; "" stands for all
	// groups.
	broken map[string]error
	// silent counts the groups that fell silent since the last response.
	silent int
	// responded reports whether there was a complete response.
	responded bool
	// busySince is when the server began to ask for retries.
	busySince time.Time
}

// noResponseError means that the server did not respond in time.
type noResponseError struct{ timeout time.Duration }

func (e *noResponseError) Error() string { return fmt.Sprintf("no response within %s", e.timeout) }

// Timeout and Temporary implement net.Error, by which callers recognize a timeout.
func (e *noResponseError) Timeout() bool { return true }

// Temporary is only part of the interface.
func (e *noResponseError) Temporary() bool { return true }

// refusal returns the reason why an API group gets no requests, or nil.
func (c *connection) refusal(group string) error {
	if c.patient.Load() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.broken[""]; err != nil {
		return err
	}
	return c.broken[group]
}

// noteFailure records why a request got no complete response.
func (c *connection) noteFailure(group string, err error) {
	slow, isNet := errors.AsType[net.Error](err)
	bad, isBad := errors.AsType[*BadResponseError](err)
	silent := isNet && slow.Timeout()
	if endless := isBad && bad.tooLong; !silent && !endless {
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

// noteResponse records a complete response. client-go retries a request up to ten times, as
// late as the server asks. A Retry-After beyond the timeout is hidden from it.
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

// addPage counts a page of a list. The pages of all lists share a limit per list, so a server
// that announces more and more pages gets an error.
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
