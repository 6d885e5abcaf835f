package runner

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/metrics"
)

// Serving says where metrics and health can be asked for.
type Serving struct {
	Metrics, Health   string
	Secure            bool
	CertFile, KeyFile string
}

// Served reports whether an address asks for something to be served.
func Served(address string) bool { return address != "" && address != "0" }

// serve starts what was asked for; stop ends it.
func (o *Serving) serve(ctx context.Context, config *rest.Config, metrics *metrics.Metrics, h *health, say func(string, ...any)) (stop func(), err error) {
	var servers []*http.Server
	stop = func() {
		for _, s := range servers {
			_ = s.Close() // nothing is lost: who asks, asks again
		}
	}
	start := func(address, what string, handler http.Handler, security *tls.Config) error {
		if !Served(address) {
			return nil
		}
		listener, err := listen(ctx, address)
		if err != nil {
			return fmt.Errorf("serve %s: %w", what, err)
		}
		scheme := "http"
		if security != nil {
			scheme = "https"
			listener = tls.NewListener(listener, security)
		}
		server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
		servers = append(servers, server)
		go func() {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				say("stopped serving %s: %v", what, err)
			}
		}()
		say("Serving %s at %s://%s", what, scheme, listener.Addr())
		return nil
	}
	pages := http.NewServeMux()
	pages.Handle("/metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	var metricsHandler http.Handler = pages
	var security *tls.Config
	if o.Secure {
		if metricsHandler, err = authorized(config, pages); err != nil {
			return stop, err
		}
		if security, err = o.certificate(); err != nil {
			return stop, err
		}
	}
	if err := start(o.Metrics, "metrics", metricsHandler, security); err != nil {
		return stop, err
	}
	return stop, start(o.Health, "health", h.pages(), nil)
}

// listen listens on loopback, unless the address has a host.
func listen(ctx context.Context, address string) (net.Listener, error) {
	if strings.HasPrefix(address, ":") {
		address = "127.0.0.1" + address
	}
	return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
}

// certificate is what the metrics are served with.
func (o *Serving) certificate() (*tls.Config, error) {
	load := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		return &pair, err
	}
	if o.CertFile == "" {
		host, _, err := net.SplitHostPort(o.Metrics)
		if err != nil {
			return nil, err
		}
		host = cmp.Or(host, "localhost")
		certificate, key, err := cert.GenerateSelfSignedCertKey(host, []net.IP{net.IPv4(127, 0, 0, 1)}, []string{"localhost"})
		if err != nil {
			return nil, fmt.Errorf("make a certificate: %w", err)
		}
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("make a certificate: %w", err)
		}
		load = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	if _, err := load(nil); err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	return &tls.Config{GetCertificate: load, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}, nil
}

// health is what the probes ask for. A loop that waits for its lease is ready
// to take over; one that works is ready once it has read what there is, and
// healthy while no reconcile is stuck, also when it has lost its lease and is to
// end.
type health struct {
	mu    sync.Mutex
	loops map[string]loopHealth // by namespace
}

// loopHealth is that of one loop.
type loopHealth struct {
	ready func() (ready bool, words string)
	// stuck says what will not end, "" for nothing.
	stuck func() string
}

func (h *health) set(namespace string, of loopHealth) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.loops == nil {
		h.loops = map[string]loopHealth{}
	}
	h.loops[namespace] = of
}

// waits says that a loop does not work, and why.
func (h *health) waits(namespace, why string) {
	h.set(namespace, loopHealth{
		ready: func() (bool, string) { return true, why },
		stuck: func() string { return "" },
	})
}

// works says that a loop works, and how far it is.
func (h *health) works(namespace string, loop *controller.Controller) {
	h.fills(namespace, "reconciling", loop)
}

// standsBy says that a loop only fills its caches, and how far it is.
func (h *health) standsBy(namespace string, loop *controller.Controller) {
	h.fills(namespace, "standing by for the lease", loop)
}

func (h *health) fills(namespace, what string, loop *controller.Controller) {
	h.set(namespace, loopHealth{
		ready: func() (bool, string) {
			if !loop.Synced() {
				return false, what + "; filling the caches"
			}
			return true, what + "; caches filled"
		},
		stuck: loop.Stuck,
	})
}

// healthy reports whether no loop is stuck, with a line for each that is.
func (h *health) healthy() (ok bool, lines []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for namespace, of := range h.loops {
		if why := of.stuck(); why != "" {
			lines = append(lines, fmt.Sprintf("[-]%s: %s", scopeName(namespace), why))
		}
	}
	slices.Sort(lines)
	if len(lines) == 0 {
		return true, []string{"ok"}
	}
	return false, lines
}

func scopeName(namespace string) string { return cmp.Or(namespace, "all namespaces") }

// ready reports whether all loops are, with a line for each.
func (h *health) ready() (ok bool, lines []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.loops) == 0 {
		return false, []string{"[-]starting"}
	}
	ok = true
	for namespace, of := range h.loops {
		ready, words := of.ready()
		sign := "+"
		if !ready {
			ok, sign = false, "-"
		}
		lines = append(lines, fmt.Sprintf("[%s]%s: %s", sign, scopeName(namespace), words))
	}
	slices.Sort(lines)
	return ok, lines
}

func (h *health) pages() http.Handler {
	pages := http.NewServeMux()
	for path, asked := range map[string]func() (bool, []string){"/healthz": h.healthy, "/readyz": h.ready} {
		pages.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			ok, lines := asked()
			if !ok {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			fmt.Fprintln(w, strings.Join(lines, "\n")) //nolint:errcheck // who asked has gone
		})
	}
	return pages
}
