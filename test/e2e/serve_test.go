package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

func page(t *testing.T, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// An active controller serves metrics and probes, and a waiting controller serves its readiness
// probe. The dashboard queries only existing metrics.
func TestMetricsAndHealth(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	serve := []string{"--metrics-bind-address", ":0", "--health-probe-bind-address", ":0"}
	first := cluster.StartRunController(t, ns, serve...)
	first.AwaitOutput("Serving health")
	quota(t, ns, "4")
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "3")
	cluster.AwaitConverged(t, ns, "foo", 3)
	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "1")
	cluster.AwaitConverged(t, ns, "foo", 1)
	cluster.Imoocpod(t, ns, "create", "bar", "--replicas", "4")
	bar := cluster.Owner(t, ns, kinds.ImoocPod(), "bar")
	harness.Eventually(t, "the status reports the exceeded quota", func() bool {
		return bar.Condition(apis.ConditionReplicaFailure).Reason == "QuotaExceeded"
	})
	health := first.AwaitServing(t, "health")
	if code, body := page(t, health+"/healthz"); code != 200 || body != "ok\n" {
		t.Errorf("/healthz: status %d, body %q", code, body)
	}
	if code, body := page(t, health+"/readyz"); code != 200 || body != "[+]"+ns+": reconciling; caches filled\n" {
		t.Errorf("/readyz of the active controller: status %d, body %q", code, body)
	}
	_, metrics := page(t, first.AwaitServing(t, "metrics")+"/metrics")
	kind := `{kind="imoocpods.batch.tutorial.kubebuilder.io"}`
	for _, want := range []string{
		"imoocpod_pods_deleted_total" + kind + " 2",
		"imoocpod_convergence_duration_seconds_count" + kind + " 2",
		`imoocpod_refusals_total{kind="imoocpods.batch.tutorial.kubebuilder.io",reason="QuotaExceeded"} `,
		`leader_election_master_status{name="` + ns + `/imoocpod-run-controller"} 1`,
		`workqueue_adds_total{name="kubectl-imoocpod/` + ns + `"} `,
		`rest_client_requests_total{code="201",host="`, `imoocpod_build_info{version="v`,
	} {
		if !strings.Contains(metrics, "\n"+want) {
			t.Errorf("the metrics lack %s:\n%s", want, metrics)
		}
	}
	checkDashboard(t, metrics)

	second := cluster.StartRunController(t, ns, serve...)
	readyz := second.AwaitServing(t, "health") + "/readyz"
	harness.Eventually(t, "/readyz of the second controller succeeds while it waits for the lease", func() bool {
		code, body := page(t, readyz)
		if code == 200 && body != "[+]"+ns+": waiting for the lease\n" {
			t.Fatalf("/readyz of the waiting controller: status %d, body %q", code, body)
		}
		return code == 200
	})
}

// checkDashboard checks that the metrics and labels in the queries of the dashboard exist.
func checkDashboard(t *testing.T, metrics string) {
	t.Helper()
	content, err := os.ReadFile("../../deploy/grafana/run-controller.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(content, &dashboard); err != nil {
		t.Fatal(err)
	}
	// Prometheus adds this label to each scraped metric.
	added := map[string]bool{"instance": true}
	labels := map[string]string{} // the text between the braces, by metric
	for _, sample := range regexp.MustCompile(`(?m)^([a-z_]+)(?:\{([^}]*)\})? `).FindAllStringSubmatch(metrics, -1) {
		labels[sample[1]] = "," + sample[2]
	}
	queries := 0
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries++
			name := regexp.MustCompile(`\b(imoocpod|workqueue|rest_client|leader_election|process)_[a-z_]+`).FindString(target.Expr)
			have, exists := labels[name]
			if !exists {
				t.Errorf("panel %q: the metric %q does not exist", panel.Title, name)
				continue
			}
			by := regexp.MustCompile(`by \(([^)]*)\)`).FindStringSubmatch(target.Expr)
			for label := range strings.SplitSeq(by[1], ", ") {
				if !added[label] && !strings.Contains(have, ","+label+"=") {
					t.Errorf("panel %q: the metric %s has no label %q; its labels are %s", panel.Title, name, label, have)
				}
			}
		}
	}
	if queries < 12 {
		t.Errorf("the dashboard has %d queries, want at least 12", queries)
	}
}
