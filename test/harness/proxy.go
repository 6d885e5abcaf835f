package harness

import (
	"io"
	"log"
	"net/http/httputil"
	"net/url"
	"testing"

	"k8s.io/client-go/rest"
)

// ServerProxy returns a proxy that sends requests to the API server with admin rights. It
// flushes watches at once. Tests put it between the server and a program.
func (c *Cluster) ServerProxy(t *testing.T) *httputil.ReverseProxy {
	t.Helper()
	target, err := url.Parse(c.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport, proxy.FlushInterval, proxy.ErrorLog = transport, -1, log.New(io.Discard, "", 0)
	return proxy
}
