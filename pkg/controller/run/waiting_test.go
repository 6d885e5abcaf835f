package run

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/metrics"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// A replica that waits for the lease of another replica is healthy and ready, so that a rollout of
// the controller can finish. The probe reports what the replica waits for.
func TestHealthWhileWaitingForTheLease(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := apiserver.New(t)
		now := metav1.NowMicro()
		s.Create(&coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "imoocpod-run-controller"},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("another"), LeaseDurationSeconds: new(int32(15)), AcquireTime: &now, RenewTime: &now},
		})
		var out strings.Builder
		o := &Options{Lease: Lease{Elect: true}, Matches: labels.Everything(), metrics: metrics.New("v1"), Log: Log{Format: "human", lines: &out}}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- o.runIn(ctx, s.RESTConfig(), "team-a") }()
		<-time.After(5 * time.Second)
		synctest.Wait()
		if !strings.Contains(out.String(), "waiting until it stops") {
			t.Errorf("it said %q", out.String())
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
	})
}
