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

// maxPages is how many further pages a list may have: half a million objects, three
// times the pods that a cluster of Kubernetes is built for.
const maxPages = 1000

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
