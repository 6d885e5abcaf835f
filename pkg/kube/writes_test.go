package kube

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// The outcome of a write is unknown if the request got a connection, but no complete response. A gateway
// timeout counts as a missing response.
func TestWriteWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	certificate := httptest.NewUnstartedServer(nil)
	certificate.StartTLS()
	defer certificate.Close()
	read := func(conn net.Conn) {
		if req, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			_, _ = io.Copy(io.Discard, req.Body)
		}
	}
	for _, test := range []struct {
		what, url string
		// serve handles a connection on the server. If serve is nil, connections are refused.
		serve   func(net.Conn)
		unknown bool
	}{
		{"the connection is refused", "http://server", nil, false},
		{"silence before TLS", "https://server", func(net.Conn) {}, false},
		{"an untrusted certificate", "https://server", func(conn net.Conn) {
			_ = tls.Server(conn, certificate.TLS).Handshake()
		}, false},
		{"a server without TLS", "https://server", func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 1<<14))
			_, _ = conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
		}, false},
		{"silence after the request", "http://server", read, true},
		{"the connection breaks after the request", "http://server", func(conn net.Conn) {
			read(conn)
			_ = conn.Close()
		}, true},
		{"a gateway timeout", "http://server", func(conn net.Conn) {
			read(conn)
			_, _ = conn.Write([]byte("HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n"))
		}, true},
		{"a truncated response", "http://server", func(conn net.Conn) {
			read(conn)
			_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\n{"))
		}, true},
		{"a response that is not JSON", "http://server", func(conn net.Conn) {
			read(conn)
			_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n"))
		}, false},
	} {
		bubble.Test(t, func(t *testing.T) {
			transport := bounded(nil)
			transport.base = &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
				if test.serve == nil {
					return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
				}
				client, server := net.Pipe()
				go test.serve(server)
				context.AfterFunc(t.Context(), func() { _ = server.Close() }) //nolint:contextcheck // the connection outlives the context of the dial
				return client, nil
			}}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, test.url+"/api/v1/namespaces/default/pods/a", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := transport.RoundTrip(req)
			if err == nil {
				_ = resp.Body.Close()
			}
			if err == nil || errors.Is(err, outcome.ErrUnknown) != test.unknown {
				t.Errorf("%s: got %v, want an unknown outcome: %t", test.what, err, test.unknown)
			}
		})
	}
}

// An interrupted command ends soon, but not before the response to a write.
func TestInterruptible(t *testing.T) {
	t.Parallel()
	answered := errors.New("answered")
	for what, test := range map[string]struct {
		// takes is how long the command ignores the interrupt; write means that it waits for a response.
		takes   time.Duration
		write   bool
		want    error
		after   time.Duration
		printed bool
	}{
		"the command ends in time":        {takes: time.Millisecond, want: answered, after: time.Millisecond},
		"the command ignores the context": {takes: time.Hour, want: context.Canceled, after: interruptGrace},
		"a write gets its response":       {takes: time.Minute, write: true, want: answered, after: time.Minute, printed: true},
	} {
		bubble.Test(t, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			var out strings.Builder
			begun := time.Now()
			err := Interruptible(ctx, &out, func(ctx context.Context) error {
				if writes, is := ctx.Value(unanswered{}).(*atomic.Int64); is && test.write {
					writes.Add(1)
				}
				interrupt()
				<-time.After(test.takes)
				return answered
			})
			if took := time.Since(begun); !errors.Is(err, test.want) || took != test.after || (out.Len() > 0) != test.printed {
				t.Errorf("%s: error %v after %v, printed %q", what, err, took, out.String())
			}
			<-time.After(test.takes)
		})
	}
}
