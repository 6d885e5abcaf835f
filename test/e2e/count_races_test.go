package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// requestsOf starts a proxy to the API server that calls before with the number of each
// request, from 1; watches do not count. If before returns true, the request is never
// answered. It returns the flags that select the proxy.
func requestsOf(t *testing.T, before func(n int64) (stall bool)) []string {
	t.Helper()
	proxy := cluster.ServerProxy(t)
	ctx, stop := context.WithCancel(context.Background())
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !harness.IsWatch(r) && before(requests.Add(1)) {
			<-ctx.Done()
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		stop()
		server.CloseClientConnections()
		server.Close()
	})
	return []string{"--server", server.URL, "--insecure-skip-tls-verify=false", "--certificate-authority="}
}

// atEveryRequest runs a command undisturbed, and then again with a disturbance before
// its first request, its second, and so on: before each one with -long, otherwise before
// every third, from a random start. A later run may make fewer requests than the first,
// because it may poll less often.
func atEveryRequest(t *testing.T, run func(t *testing.T, k int64) (requests int64)) {
	t.Helper()
	total := run(t, 0)
	if total < 3 {
		t.Fatalf("the command took only %d requests", total)
	}
	first, step := int64(1), int64(1)
	if !*long {
		first, step = 1+int64(harness.Draw(t, 3)), 3
	}
	for k := first; k <= total; k += step {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			t.Parallel()
			run(t, k)
		})
	}
}

// A count set by another writer at any time is kept: no step starts from it, and no
// revert overwrites it. Only a command that starts after it changes it.
func TestStepsWithAnotherWriter(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	for name, image := range map[string]string{"well": "busybox", "sick": "no-such-image"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEveryRequest(t, func(t *testing.T, k int64) int64 {
				foo := fmt.Sprintf("%s-%d", name, k)
				cluster.Imoocpod(t, ns, "create", foo, "--replicas", "0", "--image", image, "--wait")
				var requests atomic.Int64
				flags := requestsOf(t, func(n int64) bool {
					if requests.Store(n); n == k {
						setReplicas(t, ns, foo, "rival", 7)
					}
					return false
				})
				w := cluster.StartPlugin(t, append([]string{"scale", foo, "-n", ns, "--replicas", "2", "--step", "1", "--on-failure", "revert", "--fail-after", "1s"}, flags...)...)
				code := w.Wait()
				count, fresh := *cluster.ImoocPod(t, ns, foo).Spec.Replicas, strings.Contains(w.Output(), "imoocpod/"+foo+": 7 → ")
				wanted := []int32{7}
				switch disturbed := k > 0 && requests.Load() >= k; {
				case !disturbed && name == "well":
					wanted = []int32{2}
				case !disturbed:
					wanted = []int32{0} // reverted
				case fresh:
					wanted = []int32{2, 7}
				}
				if !slices.Contains(wanted, count) {
					t.Errorf("exit code %d, and the count became %d, want one of %v:\n%s", code, count, wanted, w.Output())
				}
				return requests.Load()
			})
		})
	}
}

// If a command that scales in steps is killed at any time, repeating it completes the
// change.
func TestStepsKilled(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	atEveryRequest(t, func(t *testing.T, k int64) int64 {
		foo := fmt.Sprintf("foo-%d", k)
		cluster.Imoocpod(t, ns, "create", foo, "--replicas", "0")
		command := []string{"scale", foo, "-n", ns, "--replicas", "3", "--step", "1"}
		var requests atomic.Int64
		at := make(chan struct{})
		flags := requestsOf(t, func(n int64) bool {
			if requests.Store(n); n == k {
				close(at)
			}
			return n == k
		})
		w := cluster.StartPlugin(t, append(command, flags...)...)
		select {
		case <-at:
			w.Kill()
		case <-w.Done:
		}
		cluster.Imoocpod(t, "", command...)
		if count := *cluster.ImoocPod(t, ns, foo).Spec.Replicas; count != 3 {
			t.Errorf("killed at request %d and run again, it left %d", k, count)
		}
		return requests.Load()
	})
}

// A count set by another writer at any time is either saved by park or kept.
func TestParkWithAnotherWriter(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	for _, verb := range []string{"park", "unpark"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			atEveryRequest(t, func(t *testing.T, k int64) int64 {
				foo := fmt.Sprintf("%s-%d", verb, k)
				cluster.Imoocpod(t, ns, "create", foo, "--replicas", "5")
				if verb == "unpark" {
					cluster.Imoocpod(t, ns, "park", foo)
				}
				var requests atomic.Int64
				flags := requestsOf(t, func(n int64) bool {
					if requests.Store(n); n == k {
						setReplicas(t, ns, foo, "rival", 7)
					}
					return false
				})
				w := cluster.StartPlugin(t, append([]string{verb, foo, "-n", ns}, flags...)...)
				code := w.Wait()
				obj := cluster.ImoocPod(t, ns, foo)
				saved, err := apis.ReadParked(obj.Annotations)
				if err != nil {
					t.Error(err)
				}
				if k > 0 && requests.Load() >= k && *obj.Spec.Replicas != 7 && (verb == "unpark" || saved == nil || saved.Replicas != 7) {
					t.Errorf("exit code %d, and the count that another writer has set became %d (saved %+v):\n%s", code, *obj.Spec.Replicas, saved, w.Output())
				}
				return requests.Load()
			})
		})
	}
}
