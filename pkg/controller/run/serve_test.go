package run

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/metrics"
)

// A server limits the number of connections and the size of headers.
func TestServingIsBounded(t *testing.T) {
	t.Parallel()
	address := ""
	stop, err := (&Serving{Metrics: "127.0.0.1:0"}).serve(t.Context(), metrics.New("v1"), &health{}, func(_ string, args ...any) {
		address = fmt.Sprint(args[1])
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	ask := func(header int) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_, err = fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: h\r\nX: %s\r\n\r\n", strings.Repeat("x", header))
		}
		return conn, err
	}
	read := func(conn net.Conn) int {
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return 0
		}
		_ = response.Body.Close() // reads the body
		return response.StatusCode
	}
	var open []net.Conn
	for i := range maxConnections {
		conn, err := ask(0)
		if err != nil || read(conn) != http.StatusNotFound {
			t.Fatalf("connection %d is not served with a 404; error: %v", i, err)
		}
		open = append(open, conn)
	}
	waiting, err := ask(0)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan int)
	go func() { served <- read(waiting) }()
	for i, conn := range open { // a server without a limit would serve the waiting connection meanwhile
		if _, err := fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil || read(conn) != http.StatusNotFound {
			t.Fatalf("connection %d is not served again with a 404; error: %v", i, err)
		}
	}
	select {
	case got := <-served:
		t.Fatalf("a connection beyond the limit is served with %d", got)
	default:
	}
	_ = open[0].Close()
	if got := <-served; got != http.StatusNotFound {
		t.Errorf("after another connection closed, the waiting connection got %d, want 404", got)
	}
	for _, conn := range append(open[1:], waiting) {
		_ = conn.Close()
	}
	if conn, err := ask(2 * maxHeaderBytes); err != nil || read(conn) != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a request with long headers is not rejected with 431; error: %v", err)
	} else {
		_ = conn.Close()
	}
}

// A waiting loop is healthy. The check fails if any loop is stuck, regardless of the other loops.
func TestHealthz(t *testing.T) {
	t.Parallel()
	var h health
	expect := func(code int, body string) {
		t.Helper()
		w := httptest.NewRecorder()
		h.pages().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/healthz", nil))
		if w.Code != code || w.Body.String() != body {
			t.Errorf("GET /healthz: %d %q, want %d %q", w.Code, w.Body, code, body)
		}
	}
	works := func(stuck string) loopHealth {
		return loopHealth{stuck: func() string { return stuck }}
	}
	expect(http.StatusOK, "ok\n")
	h.waits("a", "waiting for the lease")
	h.set("b", works(""))
	expect(http.StatusOK, "ok\n")
	h.set("b", works("foo has not ended"))
	h.set("", works("bar has not ended"))
	expect(http.StatusServiceUnavailable, "[-]all namespaces: bar has not ended\n[-]b: foo has not ended\n")
	h.waits("b", "waiting for the lease")
	h.waits("", "waiting for the lease")
	expect(http.StatusOK, "ok\n")
}
