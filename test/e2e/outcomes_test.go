package e2e

import (
	"regexp"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// A count set by another writer after the scale ends the wait, and the writer is named.
func TestReverted(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "2")
	cluster.Apply(t, ns, `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: auto}, spec: {minReplicas: 2, maxReplicas: 9, scaleTargetRef: {apiVersion: batch.tutorial.kubebuilder.io/v1alpha1, kind: ImoocPod, name: foo}}}`)
	w := cluster.StartPlugin(t, "scale", "foo", "-n", ns, "--replicas", "3", "--timeout", "1h")
	w.AwaitOutput(scaledFoo)
	setReplicas(t, ns, "foo", "rival", 2)
	if code := w.Wait(); code != harness.ExitOverwritten {
		t.Errorf("exit code %d, want %d", code, harness.ExitOverwritten)
	}
	w.AwaitOutput(`imoocpod/foo: .spec.replicas was set to 3, and the field manager "rival" set it to 2`)
	w.AwaitOutput("hint: HorizontalPodAutoscaler/auto keeps its replica count between 2 and 9")
}

// scale warns before the change who will revert the count and what protects the pods, if
// it waits or if the kind is not this program's.
func TestScaleWarns(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.CreateObject(t, ns, "deployments.apps", workload("Deployment", "web", 3))
	cluster.Apply(t, ns, `
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: auto}, spec: {minReplicas: 2, maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: guard}, spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}}
---
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: other}, spec: {minReplicas: 2, maxReplicas: 9, scaleTargetRef: {apiVersion: batch.tutorial.kubebuilder.io/v1alpha1, kind: ImoocPod, name: foo}}}`)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "2")
	harness.Eventually(t, "the Deployment has pods", func() bool { return len(statusOf(t, ns, "deployment/web").Pods) == 3 })
	set := strings.TrimSpace(harness.Must(t, cluster.Kubectl(t, ns, "get", "replicaset", "-o", "jsonpath={.items[0].metadata.name}")))
	const auto, guard = "Warning: deployment/web: HorizontalPodAutoscaler/auto keeps its replica count between 2 and 9\n",
		"Warning: deployment/web: PodDisruptionBudget/guard requires at least 2 available pods, and only 1 would be left\n"
	changed := regexp.MustCompile(`(?m)^\S+: \d+ → \d+.*\n`) // printed by every scale
	for _, test := range []struct{ args, want string }{
		{"deployment/web --replicas 4 --dry-run=server", auto},
		{"deployment/web --by=-2 --dry-run=server", auto + guard},
		{"replicaset/" + set + " --replicas 5 --dry-run=server", "Warning: replicaset/" + set + ": Deployment/web owns it and may reset its replica count\n"},
		{"foo --replicas 3", noLoop("imoocpods", ns)},
		{"foo --replicas 3 --timeout 1s --dry-run=server", "Warning: imoocpod/foo: HorizontalPodAutoscaler/other keeps its replica count between 2 and 9\n"},
	} {
		if r := cluster.Kubectl(t, ns, append([]string{"imoocpod", "scale"}, harness.Words(test.args)...)...); r.Code != 0 || changed.ReplaceAllString(r.Stderr, "") != test.want {
			t.Errorf("scale %s: exit code %d, said %q, want %q", test.args, r.Code, r.Stderr, test.want)
		}
	}
}

// An uninstall that would delete other users' objects is refused.
func TestRefusedUninstall(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "foo")
	r := cluster.Kubectl(t, ns, "imoocpod", "uninstall", "--crds")
	if r.Code != harness.ExitPrecondition || !strings.Contains(r.Stderr, "error: refused: removing imoocpods.batch.tutorial.kubebuilder.io would delete ") {
		t.Errorf("exit code %d, said %q", r.Code, r.Stderr)
	}
}

// A wait fails early once --fail-after has passed for an object that cannot become ready
// by itself, unless that is infinite.
func TestFailsEarly(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	quota(t, ns, "1")
	r := cluster.Kubectl(t, ns, "imoocpod", "create", "foo", "--replicas", "2", "--wait", "--fail-after", "1s")
	if r.Code != harness.ExitFailed || !strings.Contains(r.Stderr, "error: imoocpod/foo has failed: ") || !strings.Contains(r.Stderr, "exceeded quota: few") {
		t.Errorf("exit code %d, said %q", r.Code, r.Stderr)
	}
	r = cluster.Kubectl(t, ns, "imoocpod", "wait", "foo", "--timeout", "5s", "--fail-after", "0", "--fail-fast=false")
	if r.Code != harness.ExitTimeout || !strings.Contains(r.Stderr, "timed out; last seen: failed: ") {
		t.Errorf("exit code %d, said %q", r.Code, r.Stderr)
	}
	// The problem is fixed in time.
	w := cluster.StartPlugin(t, "wait", "foo", "-n", ns, "--timeout", "1h", "--fail-after", "1h")
	w.AwaitOutput("failed, gives up in ")
	harness.Must(t, cluster.Kubectl(t, ns, "delete", "resourcequota", "few"))
	if code := w.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// The failing pod is named, with its last events and a hint, as in status.
func TestFailureNamesPod(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	cluster.Apply(t, ns, ailing("sick", oneContainer, waiting(0, "ImagePullBackOff", `Back-off pulling image "web:v2": ErrImagePull: web:v2: not found`, "")))
	explains(t, ns, "sick", expected{status.Failed, problem.CodeImagePullFailed, "container web cannot pull its image web:v2", "imagePullSecrets"})
	for _, args := range []string{"wait sick --fail-after 0 --timeout 5m", "scale sick --replicas 3 --fail-after 1s --timeout 5m", "restart sick --wait --fail-after 1s"} {
		r := cluster.Kubectl(t, ns, append([]string{"imoocpod"}, harness.Words(args)...)...)
		_, said, _ := strings.Cut(r.Stderr, "error: ")
		matched := regexp.MustCompile(`(?s)^imoocpod/sick has failed: .*container web cannot pull its image web:v2: .*\nhint: .*imagePullSecrets.*\n$`)
		if r.Code != harness.ExitFailed || !matched.MatchString(said) {
			t.Errorf("%s: exit code %d, said %q", args, r.Code, r.Stderr)
		}
	}
}

// Every outcome is printed, and the most serious one sets the exit code.
func TestSeveralOutcomes(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "waits", "--replicas", "1") // for a controller
	cluster.CreateObject(t, ns, "deployments.apps", workload("Deployment", "ready", 0))
	// The server refuses its pods, which the ReplicaSet controller reports at once.
	quota(t, ns, "0")
	cluster.CreateObject(t, ns, "deployments.apps", workload("Deployment", "refused", 1))
	harness.Eventually(t, "the Deployment is refused its pods", func() bool {
		return strings.Contains(cluster.Imoocpod(t, ns, "status", "deployment/refused"), "failed: ")
	})
	blind := newUser(t, ns, "get")
	for _, test := range []struct {
		args string
		code int
		says []string
	}{
		{"wait deployment/ready", 0, nil},
		{"wait imoocpod/waits deployment/ready", harness.ExitTimeout, []string{"waits to be ready: timed out; last seen: not reconciled"}},
		{"wait imoocpod/waits deployment/refused deployment/ready --fail-after 0", harness.ExitFailed, []string{"deployment/refused has failed: ", "exceeded quota: few", "waits to be ready: timed out"}},
		{"wait imoocpod/waits imoocpod/none deployment/refused --fail-after 0", harness.ExitNotFound, []string{"has failed", `"none" not found`, "timed out"}},
		{"scale imoocpod/waits imoocpod/none --replicas 2 --current-replicas 7", harness.ExitNotFound, []string{`"none" not found`, "to be 7, was 1"}},
		{"scale imoocpod/waits deployment/refused --replicas 2 --current-replicas 1 --fail-after 0", harness.ExitFailed, []string{"has failed", "timed out"}},
		{"wait imoocpod/none imoocpod/waits --as " + blind, harness.ExitForbidden, []string{"cannot list resource"}},
	} {
		args := harness.Words(test.args)
		if !strings.Contains(test.args, "current-replicas 7") {
			args = append(args, "--timeout", "5s")
		}
		r := cluster.Kubectl(t, ns, append([]string{"imoocpod"}, args...)...)
		if r.Code != test.code {
			t.Errorf("%s: exit code %d, want %d; said %s", test.args, r.Code, test.code, r.Stderr)
		}
		for _, words := range test.says {
			if !strings.Contains(r.Stderr, words) {
				t.Errorf("%s: said %q, want %q in it", test.args, r.Stderr, words)
			}
		}
	}
}
