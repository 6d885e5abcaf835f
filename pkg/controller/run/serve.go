package run

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"

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
