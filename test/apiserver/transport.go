package apiserver

import (
	"context"
	"io"
	"net/http"
)

// RoundTrip implements http.RoundTripper without a network. It returns when the handler has sent the header. If the
// handler panics with http.ErrAbortHandler instead, RoundTrip returns io.ErrUnexpectedEOF.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		_ = r.Body.Close()
	}
	ctx, cancel := context.WithCancel(r.Context())
	reader, writer := io.Pipe()
	context.AfterFunc(ctx, func() { _ = writer.CloseWithError(ctx.Err()) })
	w := &connection{PipeWriter: writer, header: http.Header{}, code: make(chan int, 1)}
	go func() {
		defer func() {
			if broken := recover(); broken != nil && broken != http.ErrAbortHandler { //nolint:errorlint // net/http compares it, too
				panic(broken)
			}
			close(w.code)
			_ = writer.CloseWithError(ctx.Err())
		}()
		s.serve(w, r.WithContext(ctx), parse(r, body))
	}()
	select {
	case code, sent := <-w.code:
		if !sent {
			cancel()
			return nil, io.ErrUnexpectedEOF
		}
		return &http.Response{
			StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
			Header: w.header, Body: content{reader, cancel}, ContentLength: -1,
		}, nil
	case <-r.Context().Done():
		cancel()
		return nil, context.Cause(r.Context())
	}
}

// connection writes one response. Each write blocks until the client has read the data.
type connection struct {
	*io.PipeWriter

	header http.Header
	code   chan int
}

func (c *connection) Header() http.Header { return c.header }

func (c *connection) WriteHeader(code int) { c.code <- code }

// content is the body of a response. Close also cancels the context of the handler.
type content struct {
	*io.PipeReader

	cancel context.CancelFunc
}

func (c content) Close() error {
	c.cancel()
	return c.PipeReader.Close()
}
