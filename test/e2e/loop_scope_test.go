package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/podtemplate"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// A controller with some kinds and a selector does not touch other objects, including objects that
// no longer match.
func TestKindsAndSelector(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	l := cluster.StartRunController(t, ns, "--kinds", "ImoocPods,appservices.appcontroller.k8s.io", "-l", "team=a")
	l.AwaitOutput("Starting the controller for ImoocPods, AppServices in namespace " + ns)
	for _, name := range []string{"foo", "bar", "baz"} {
		cluster.Apply(t, ns, fmt.Sprintf(`{apiVersion: batch.tutorial.kubebuilder.io/v1alpha1, kind: ImoocPod,
			metadata: {name: %s, labels: {team: %s}}, spec: {replicas: 2}}`, name, map[string]string{"foo": "a", "bar": "b", "baz": "a"}[name]))
	}
	hello := cluster.NewOwner(t, ns, kinds.HelloWorld(), "hello", map[string]any{"size": int64(1)})
	hello.Patch(`{"metadata":{"labels":{"team":"a"}}}`)
	cluster.AwaitConverged(t, ns, "foo", 2)
	cluster.AwaitConverged(t, ns, "baz", 2)
	harness.Must(t, cluster.Kubectl(t, ns, "label", "imoocpod", "foo", "team=b", "--overwrite"))
	cluster.Owner(t, ns, kinds.ImoocPod(), "foo").Scale(1)
	harness.Must(t, cluster.Kubectl(t, ns, "scale", "imoocpod", "baz", "--replicas", "4"))
	cluster.AwaitConverged(t, ns, "baz", 4) // the controller has seen the earlier change of foo, too
	foo := cluster.ImoocPod(t, ns, "foo")
	pod := podName(foo, 1)
	harness.Must(t, cluster.Kubectl(t, ns, "label", "pod", pod, apis.LabelOwner+"-"))
	harness.Must(t, cluster.Kubectl(t, ns, "scale", "imoocpod", "baz", "--replicas", "1"))
	cluster.AwaitConverged(t, ns, "baz", 1)
	if written := cluster.Requests(t, ns, func(r harness.Request) bool { return harness.ByPlugin(r) && r.Verb == "patch" && r.Object.Name == pod }); len(written) > 0 {
		t.Errorf("a pod of foo was labeled again: %+v", written)
	}
	if pods := cluster.PodsOf(t, ns, foo.UID); len(pods) != 2 || foo.Status.Replicas != 2 || foo.Status.ObservedGeneration == foo.Generation {
		t.Errorf("foo has %d pods and the status %+v after it left the selection", len(pods), foo.Status)
	}
	if bar := cluster.ImoocPod(t, ns, "bar"); bar.Status.ObservedGeneration != 0 {
		t.Errorf("bar, which does not match, has the status %+v", bar.Status)
	}
	if status := hello.Get().Object["status"]; status != nil || strings.Contains(l.Output(), "hello") {
		t.Errorf("a HelloWorld was reconciled: %v", status)
	}
	harness.Must(t, cluster.Kubectl(t, ns, "label", "imoocpod", "foo", "team=a", "--overwrite"))
	cluster.AwaitConverged(t, ns, "foo", 1)

	// The controller of another team does not wait for this one.
	cluster.StartRunController(t, ns, "-l", "team=b")
	cluster.AwaitConverged(t, ns, "bar", 2)
}

// A change causes only a limited number of reconciles. With -v, this test prints the counts, which
// docs/how-it-works.md lists. The tutorials count reconciles, too.
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
