package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// gate is a proxy to the API server that holds back pod creates until it is opened, and
// counts requests.
type gate struct {
	opened chan struct{}

	mu sync.Mutex
	// creating is the number of pod creates in flight; most is its maximum.
	creating, most int
	renewals       int
	// bounded counts the requests subject to the rate limit: all but those for the
	// lease, watches, and the initial check of the namespace.
	bounded int
}

var namespaceItself = regexp.MustCompile(`^/api/v1/namespaces/[^/]+$`)

// newGate returns a gate, and the flags that direct a controller through it.
func newGate(t *testing.T) (*gate, []string) {
	t.Helper()
	g := &gate{opened: make(chan struct{})}
	proxy := cluster.ServerProxy(t)
	ctx, end := context.WithCancel(context.Background())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.came(r) {
			select {
			case <-g.opened:
			case <-r.Context().Done():
			case <-ctx.Done():
			}
			defer g.went()
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		end()
		server.CloseClientConnections()
		server.Close()
	})
	return g, []string{"--server", server.URL, "--certificate-authority="}
}

// came records a request, and reports whether it creates a pod.
func (g *gate) came(r *http.Request) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	lease := strings.Contains(r.URL.Path, "/leases")
	switch {
	case lease && r.Method == http.MethodPut:
		g.renewals++
	case !lease && !harness.IsWatch(r) && !namespaceItself.MatchString(r.URL.Path):
		g.bounded++
	}
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/pods") {
		return false
	}
	g.creating++
	g.most = max(g.most, g.creating)
	return true
}

func (g *gate) went() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.creating--
}

func (g *gate) ask(condition func() bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return condition()
}

// --workers limits the number of objects reconciled at the same time.
func TestWorkers(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{2, 5} {
		ns := cluster.NewNamespace(t)
		var manifests []string
		for i := range 5 {
			manifests = append(manifests, harness.ImoocPodManifest(fmt.Sprintf("foo-%d", i), "spec: {replicas: 1}"))
		}
		cluster.Apply(t, ns, strings.Join(manifests, "\n---\n"))
		g, through := newGate(t)
		l := cluster.StartRunController(t, ns, append(through, "--workers", fmt.Sprint(workers), "--metrics-bind-address", ":0")...)
		metrics := l.AwaitServing(t, "metrics") + "/metrics"
		// All five objects are in the queue, even those that are being reconciled, because the
		// writes of their revisions have triggered another reconcile.
		waiting := fmt.Sprintf("\nworkqueue_depth{name=\"kubectl-imoocpod/%s\"} 5\n", ns)
		harness.Eventually(t, fmt.Sprintf("%d are worked on and the others wait", workers), func() bool {
			_, body := page(t, metrics)
			return strings.Contains(body, waiting) && g.ask(func() bool { return g.creating == workers })
		})
		close(g.opened)
		for i := range 5 {
			cluster.AwaitConverged(t, ns, fmt.Sprintf("foo-%d", i), 1)
		}
		if g.most != workers {
			t.Errorf("--workers %d: %d were worked on", workers, g.most)
		}
		l.Stop()
	}
}

// Requests beyond the burst wait for the rate limit, but the lease is renewed on time.
func TestRequestLimit(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	const burst = 40
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "50")
	g, through := newGate(t)
	close(g.opened)
	cluster.StartRunController(t, ns, append(through, "--kube-api-qps", "0.0001", "--kube-api-burst", fmt.Sprint(burst))...)
	var sent, renewed int
	harness.Eventually(t, "only the lease is written", func() bool {
		return g.ask(func() bool {
			if g.bounded != sent {
				sent, renewed = g.bounded, g.renewals
			}
			return sent > 0 && g.renewals >= renewed+3
		})
	})
	if sent != burst {
		t.Errorf("%d requests were sent, want %d", sent, burst)
	}
	if pods := cluster.PodsOf(t, ns, cluster.ImoocPod(t, ns, "foo").UID); len(pods) == 0 || len(pods) >= burst {
		t.Errorf("%d pods were made by %d requests", len(pods), burst)
	}
}
