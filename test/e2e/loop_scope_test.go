package e2e

import (
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/podtemplate"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// A change causes only a limited number of reconciles. With -v, this test prints the counts, which
// docs/how-it-works.md lists.
func TestReconcileCounts(t *testing.T) {
	t.Parallel()
	for _, kind := range []kinds.Kind{kinds.ImoocPod(), kinds.AppService(), kinds.HelloWorld()} {
		t.Run(kind.Kind, func(t *testing.T) {
			t.Parallel()
			ns := cluster.NewNamespace(t)
			l := cluster.StartController(t, controller.Options{Namespace: ns, Kinds: []kinds.Kind{kind}})
			var looks, writes, triggers int
			count := func(what string, limit int) {
				nowLooks, nowWrites := cluster.AwaitIdle(t, ns, l)
				nowTriggers := triggersOf(t, l)
				t.Logf("%-10s %-8s %2d triggers %2d reconciles %2d writes", kind.Kind, what, nowTriggers-triggers, int(nowLooks)-looks, nowWrites-writes)
				if n := int(nowLooks) - looks; n > limit {
					t.Errorf("%s took %d reconciles, want at most %d", what, n, limit)
				}
				looks, writes, triggers = int(nowLooks), nowWrites, nowTriggers
			}
			spec := map[string]any{kind.ReplicasPath[1]: int64(1)}
			if kind.Kind == "AppService" {
				spec["deploymentName"] = "web"
			}
			foo := cluster.NewOwner(t, ns, kind, "foo", spec)
			foo.AwaitReady("one pod")
			count("create", 12)
			foo.Scale(3)
			foo.AwaitReady("three pods")
			count("1 to 3", 16)
			foo.Scale(1)
			foo.AwaitReady("one pod")
			count("3 to 1", 16)
			path, err := podtemplate.RestartField(kind, foo.Get(), nil, "")
			if err != nil {
				t.Fatal(err)
			}
			before := foo.LivePods()[0].UID
			foo.Set("2026-01-01T00:00:00Z", path...)
			harness.Eventually(t, "another pod exists", func() bool {
				pods := foo.LivePods()
				return len(pods) == 1 && pods[0].UID != before
			})
			foo.AwaitReady("restarted")
			count("restart", 16)
			// Irrelevant changes cause no reconcile.
			foo.Patch(`{"metadata":{"annotations":{"a":"b"},"labels":{"c":"d"}}}`)
			cluster.PatchPodStatus(t, ns, foo.LivePods()[0].Name, map[string]any{"message": "a heartbeat"})
			count("nothing", 0)
		})
	}
}

// triggersOf returns how often a controller added an object to its queue.
func triggersOf(t *testing.T, l *harness.Controller) int {
	t.Helper()
	families, err := l.Metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, family := range families {
		if family.GetName() == "workqueue_adds_total" {
			for _, metric := range family.GetMetric() {
				n += int(metric.GetCounter().GetValue())
			}
		}
	}
	return n
}
