package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/net/netutil"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/metrics"
)

// Limits of a server. They are low, because clients are not authenticated.
const (
	maxConnections = 32
	maxHeaderBytes = 16 << 10
)

// Serving holds the addresses of the metrics and probe servers. A server with the address "" or "0" is not started.
type Serving struct {
	Metrics, Health string
}

// Served reports whether an address enables a server.
func Served(address string) bool { return address != "" && address != "0" }

// serve starts the servers, and returns a function that stops them. Call stop even after an error.
func (o *Serving) serve(ctx context.Context, metrics *metrics.Metrics, h *health, say func(string, ...any)) (stop func(), err error) {
	var servers []*http.Server
	stop = func() {
		for _, s := range servers {
			_ = s.Close() // ignore errors, because clients retry
		}
	}
	start := func(address, what string, handler http.Handler) error {
		if !Served(address) {
			return nil
		}
		listener, err := listen(ctx, address)
		if err != nil {
			return fmt.Errorf("serve %s: %w", what, err)
		}
		server := &http.Server{
			Handler: handler, MaxHeaderBytes: maxHeaderBytes,
			ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		}
		servers = append(servers, server)
		go func() {
			if err := server.Serve(netutil.LimitListener(listener, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
				say("stopped serving %s: %v", what, err)
			}
		}()
		say("Serving %s at http://%s", what, listener.Addr())
		return nil
	}
	pages := http.NewServeMux()
	pages.Handle("/metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	if err := start(o.Metrics, "metrics", pages); err != nil {
		return stop, err
	}
	return stop, start(o.Health, "health", h.pages())
}

// listen listens on an address. If the address has no host, listen uses 127.0.0.1.
func listen(ctx context.Context, address string) (net.Listener, error) {
	if strings.HasPrefix(address, ":") {
		address = "127.0.0.1" + address
	}
	return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
}
