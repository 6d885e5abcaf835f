package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/metrics"
)

// says is a writer that closes a channel when a text is written to it.
type says struct {
	mu    sync.Mutex
	all   bytes.Buffer
	text  string
	found chan struct{}
}

func (s *says) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	had := strings.Contains(s.all.String(), s.text)
	s.all.Write(p)
	if !had && strings.Contains(s.all.String(), s.text) {
		close(s.found)
	}
	return len(p), nil
}

// A replica that waits for the lease of another one is healthy and ready, and reports what it waits
// for. Otherwise, a rollout of the controller would never end.
func TestHealthWhileWaitingForTheLease(t *testing.T) {
	t.Parallel()
	now := metav1.NowMicro()
	lease := coordinationv1.Lease{TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}}
	lease.Name, lease.Namespace = "imoocpod-run-controller", "team-a"
	lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: new("another"), LeaseDurationSeconds: new(int32(15)), AcquireTime: &now, RenewTime: &now}
	namespace := corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
	namespace.Name = "team-a"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var answer any = namespace
		if strings.Contains(r.URL.Path, "/leases") {
			answer = lease
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)

	out := &says{text: "waiting until it stops", found: make(chan struct{})}
	o := &Options{Lease: Lease{Elect: true}, Matches: labels.Everything(), metrics: metrics.New("v1"), Log: Log{Format: "human", lines: out}}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- o.runIn(ctx, &rest.Config{Host: server.URL}, "team-a") }()
	select {
	case <-out.found:
	case err := <-ended:
		t.Fatalf("it has ended: %v", err)
	}
	for path, body := range map[string]string{"/readyz": "[+]team-a: waiting for the lease\n", "/healthz": "ok\n"} {
		w := httptest.NewRecorder()
		o.health.pages().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != http.StatusOK || w.Body.String() != body {
			t.Errorf("%s: %d %q", path, w.Code, w.Body)
		}
	}
	stop()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
}
