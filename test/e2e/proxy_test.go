package e2e

import (
	"io"
	"log"
	"net/http/httputil"
	"net/url"
	"testing"

	"k8s.io/client-go/rest"
)

// serverProxy hands requests on to the API server with all rights, and watches
// back at once, for tests that stand between it and a program.
func serverProxy(t *testing.T) *httputil.ReverseProxy {
	t.Helper()
	target, err := url.Parse(cluster.config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(cluster.config)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport, proxy.FlushInterval, proxy.ErrorLog = transport, -1, log.New(io.Discard, "", 0)
	return proxy
}
