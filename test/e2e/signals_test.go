package e2e

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// A first Ctrl-C lets the write in flight complete. A second Ctrl-C ends the controller immediately.
func TestSecondInterruptEndsAtOnce(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	begun := make(chan struct{})
	l := cluster.StartRunController(t, ns, "--server", stuckServer(t, begun), "--insecure-skip-tls-verify=false", "--certificate-authority=")
	cluster.Imoocpod(t, ns, "create", "foo")
	<-begun
	l.Interrupt()
	select {
	case <-l.Done:
		t.Fatal("the loop ended at the first interrupt, with a write under way")
	case <-time.After(time.Second):
	}
	if code := l.Stop(); code != 130 {
		t.Errorf("the second interrupt ended the loop with exit code %d, want 130", code)
	}
}

// stuckServer starts a proxy to the API server that never responds to a pod create, and returns its
// URL. The proxy closes begun when the first pod create arrives.
func stuckServer(t *testing.T, begun chan struct{}) string {
	t.Helper()
	target, err := url.Parse(cluster.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	if proxy.Transport, err = rest.TransportFor(cluster.Config); err != nil {
		t.Fatal(err)
	}
	proxy.FlushInterval, proxy.ErrorLog = -1, log.New(io.Discard, "", 0) // flush watches immediately
	var once sync.Once
	ctx, stop := context.WithCancel(context.Background())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pods") {
			once.Do(func() { close(begun) })
			select {
			case <-ctx.Done():
			case <-r.Context().Done():
			}
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		stop()
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}
