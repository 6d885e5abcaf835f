package e2e

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// brokenWatches is a transport whose watches expire, break, and end repeatedly.
type brokenWatches struct {
	http.RoundTripper
	faults *harness.Faults
}

func (b brokenWatches) RoundTrip(r *http.Request) (*http.Response, error) {
	if harness.IsWatch(r) {
		return b.faults.Intercept(r, b.RoundTripper)
	}
	return b.RoundTripper.RoundTrip(r)
}

// Every verb that follows an object ends when its condition is met, and not earlier,
// even if no watch lasts longer than two seconds.
func TestVerbsFollowThroughBrokenWatches(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	proxy := cluster.ServerProxy(t)
	faults := harness.NewFaults(1)
	proxy.Transport = brokenWatches{proxy.Transport, faults}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	cluster.Apply(t, ns, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 3, selector: {matchLabels: {app: web}}, "+
		"template: {metadata: {labels: {app: web}}, spec: {terminationGracePeriodSeconds: 0, containers: [{name: web, image: 'web:1'}]}}}}")
	one := cluster.StartPlugin(t, "status", "deployment/web", "-n", ns, "-w", "--server", server.URL)
	all := cluster.StartPlugin(t, "status", "deployments", "-n", ns, "-w", "--server", server.URL)
	for _, line := range []string{
		"status deployment/web --wait", "create foo --replicas 3 --wait", "scale foo --replicas 6", "scale deployment/web --replicas 8", "wait deployment/web",
		"set image deployment/web web:2 --wait", "undo deployment/web --wait", "restart deployment/web --wait", "restart foo --wait", "status foo --wait",
	} {
		args := append([]string{"imoocpod"}, strings.Fields(line)...)
		if r := cluster.Kubectl(t, ns, append(args, "--timeout", "5m", "--server", server.URL)...); r.Code != 0 {
			t.Errorf("%s: exit code %d, said %q", line, r.Code, r.Stderr)
		}
		object := "deployment/web"
		if strings.Contains(line, "foo") {
			object = "foo"
		}
		if r := cluster.Kubectl(t, ns, "imoocpod", "status", object, "--exit-code"); r.Code != 0 {
			t.Errorf("after %s, %s is not ready: %s", line, object, r.Stdout)
		}
	}
	for _, w := range []*harness.Process{one, all} {
		w.AwaitOutput("8         8         8       ready")
	}
	if faults.Injected.Load() == 0 {
		t.Error("no watch was broken, so this test shows nothing")
	}
}
