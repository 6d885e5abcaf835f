package run

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// A replica that waits for a lease that another replica holds is healthy and ready, so that a rollout of
// the controller can finish. The page /readyz reports what the replica waits for.
func TestHealthWhileWaitingForTheLease(t *testing.T) {
	inCluster(t, func(c *cluster) {
		c.holdLease("team-a", 15)
		var o *Options
		stop := c.start("team-a", func(opts *Options) { o = opts })
		c.passes(5 * time.Second)
		if logs := c.logs.String(); !strings.Contains(logs, "waiting until it stops") {
			t.Errorf("log: %q, want a line that contains \"waiting until it stops\"", logs)
		}
		for path, body := range map[string]string{"/readyz": "[+]team-a: waiting for the lease\n", "/healthz": "ok\n"} {
			w := httptest.NewRecorder()
			o.health.pages().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			if w.Code != http.StatusOK || w.Body.String() != body {
				t.Errorf("GET %s: %d %q, want 200, and the waiting loop only in /readyz", path, w.Code, w.Body)
			}
		}
		if err := stop(); err != nil {
			t.Errorf("the controller stopped with error %v, want none", err)
		}
	})
}

// holdLease gives the lease of a namespace to another process, which renewed it just now.
func (c *cluster) holdLease(namespace string, seconds int32) {
	now := metav1.NowMicro()
	c.Create(&coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "imoocpod-run-controller"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("another"), LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now},
	})
}

// If one namespace has converged and another waits for its lease, the error of --once names the waiting namespace.
func TestOnceWithoutTheLease(t *testing.T) {
	for name, prepare := range map[string]func(c *cluster){
		"held": func(c *cluster) { c.holdLease("team-b", 3600) },
		"lost": func(c *cluster) {
			c.imoocPod("team-b", "foo", "replicas: 1, template: {spec: {containers: [{name: main, image: pull}]}}")
			c.After(5*time.Second, func() {
				c.As("another").Delete("leases", "team-b", "imoocpod-run-controller")
				c.holdLease("team-b", 3600)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inCluster(t, func(c *cluster) {
				prepare(c)
				_, err := c.run(c.Context(), "default,team-b", func(o *Options) { o.Once, o.Limits.Timeout = true, 30*time.Second })
				if !errors.Is(err, outcome.ErrTimeout) || !strings.Contains(err.Error(), "wait for the lease in team-b: ") {
					t.Errorf("error %v, want a timeout of the wait for the lease in team-b", err)
				}
			})
		})
	}
}
