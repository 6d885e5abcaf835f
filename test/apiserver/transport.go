package apiserver

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
)

// roundTrip passes a request to a handler, and returns when the handler has sent the header. When
// the client closes the response, roundTrip cancels the context of the handler.
func roundTrip(r *http.Request, handler http.HandlerFunc) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	w := &connection{header: http.Header{}, begun: make(chan struct{}), more: make(chan struct{}), gone: ctx.Done(), hangUp: cancel}
	go func() {
		defer func() {
			if broken := recover(); broken == http.ErrAbortHandler { //nolint:errorlint // net/http compares it, too
				w.end(io.ErrUnexpectedEOF)
			} else if broken != nil {
				panic(broken)
			}
			w.end(io.EOF)
		}()
		handler(w, r.WithContext(ctx))
	}()
	select {
	case <-w.begun:
	case <-ctx.Done():
		cancel()
		return nil, context.Cause(r.Context())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.code == 0 {
		cancel()
		return nil, w.ended
	}
	return &http.Response{
		StatusCode: w.code, Status: http.StatusText(w.code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: w.sent, Body: w, ContentLength: -1,
	}, nil
}

// connection is both the writer and the reader of one response. It buffers the written data, so a
// handler never waits for a client.
type connection struct {
	header, sent http.Header
	begun        chan struct{}
	gone         <-chan struct{}
	hangUp       func()

	mu   sync.Mutex
	code int
	text bytes.Buffer
	// more is closed and replaced when there is more data, or when the response ends.
	more chan struct{}
	// ended is the error that ended the response, such as io.EOF, or nil before the end.
	ended error
}

func (c *connection) Header() http.Header { return c.header }

func (c *connection) WriteHeader(code int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.code == 0 {
		c.code, c.sent = code, c.header.Clone()
		close(c.begun)
	}
}

func (c *connection) Write(p []byte) (int, error) {
	c.WriteHeader(http.StatusOK)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake()
	return c.text.Write(p)
}

// Flush sends the header. Data needs no flush, because the client can read it immediately.
func (c *connection) Flush() { c.WriteHeader(http.StatusOK) }

func (c *connection) wake() {
	close(c.more)
	c.more = make(chan struct{})
}

func (c *connection) end(how error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended != nil {
		return
	}
	c.ended = how
	if c.code == 0 {
		if how == io.EOF { //nolint:errorlint // compare the value itself
			c.code, c.sent = http.StatusOK, c.header.Clone()
		}
		close(c.begun)
	}
	c.wake()
}

func (c *connection) Read(p []byte) (int, error) {
	for {
		c.mu.Lock()
		if c.text.Len() > 0 {
			defer c.mu.Unlock()
			return c.text.Read(p)
		}
		more, ended := c.more, c.ended
		c.mu.Unlock()
		if ended != nil {
			return 0, ended
		}
		select {
		case <-more:
		case <-c.gone:
			return 0, context.Canceled
		}
	}
}

func (c *connection) Close() error {
	c.hangUp()
	return nil
}
