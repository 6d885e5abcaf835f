package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
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

// Serving holds the addresses of the metrics and probe servers. A server with the address "" or "0" is not started. A
// server whose address has no host listens on 127.0.0.1.
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
		if strings.HasPrefix(address, ":") {
			address = "127.0.0.1" + address
		}
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
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

// health serves the probes. A loop that waits for its lease is ready, because it can take over. A
// running loop is ready when its caches are filled, and healthy unless a reconcile is stuck. After
// a loop has lost its lease, it counts as running until its reconciles have ended.
type health struct {
	mu    sync.Mutex
	loops map[string]loopHealth // by namespace
}

type loopHealth struct {
	// waits is the reason why the loop is not running, or "".
	waits string
	// synced reports whether all caches are filled. stuck returns a message about a stuck reconcile, or "".
	synced func() bool
	stuck  func() string
}

func (h *health) set(namespace string, of loopHealth) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.loops == nil {
		h.loops = map[string]loopHealth{}
	}
	h.loops[namespace] = of
}

func (h *health) waits(namespace, why string) { h.set(namespace, loopHealth{waits: why}) }

// alive is the check for /healthz. It fails if a reconcile is stuck; words describes that reconcile.
func (of loopHealth) alive() (ok bool, words string) {
	if of.waits == "" {
		words = of.stuck()
	}
	return words == "", words
}

// ready is the check for /readyz. words describes the state of the loop.
func (of loopHealth) ready() (ok bool, words string) {
	switch {
	case of.waits != "":
		return true, of.waits
	case of.synced():
		return true, "reconciling; caches filled"
	}
	return false, "starting; filling the caches"
}

// page returns a handler that runs a check for each loop. The status is 503 if a check fails.
func (h *health) page(judge func(loopHealth) (ok bool, words string)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		var lines []string
		all := true
		for namespace, of := range h.loops {
			ok, words := judge(of)
			sign := "+"
			if !ok {
				all, sign = false, "-"
			}
			if words != "" {
				lines = append(lines, fmt.Sprintf("[%s]%s: %s", sign, cmp.Or(namespace, "all namespaces"), words))
			}
		}
		if !all {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		slices.Sort(lines)
		fmt.Fprintln(w, cmp.Or(strings.Join(lines, "\n"), "ok")) //nolint:errcheck // the client has disconnected
	}
}

func (h *health) pages() http.Handler {
	pages := http.NewServeMux()
	pages.Handle("/healthz", h.page(loopHealth.alive))
	pages.Handle("/readyz", h.page(loopHealth.ready))
	return pages
}
