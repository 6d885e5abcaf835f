package e2e

import (
	"regexp"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// A count that another sets after the scale ends the wait for it, and the other
// is named.
func TestReverted(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	imoocpod(t, ns, "create", "foo", "--replicas", "2")
	apply(t, ns, `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: auto}, spec: {minReplicas: 2, maxReplicas: 9, scaleTargetRef: {apiVersion: batch.tutorial.kubebuilder.io/v1alpha1, kind: ImoocPod, name: foo}}}`)
	w := startPlugin(t, "scale", "foo", "-n", ns, "--replicas", "3", "--timeout", "1h")
	w.says(scaledFoo)
	setReplicas(t, ns, "foo", "rival", 2)
	if code := w.ends(); code != exitReverted {
		t.Errorf("exit code %d, want %d", code, exitReverted)
	}
	w.says(`reverted: imoocpod.batch.tutorial.kubebuilder.io/foo was scaled to 3, and the field manager "rival" set it to 2`)
	w.says("hint: HorizontalPodAutoscaler/auto keeps its number of pods between 2 and 9")
}

// Who will put a count back, and who guards the pods, is told before the change,
// where there is a wait for it or the kind is not this program's.
func TestScaleWarns(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	makeObject(t, ns, "deployments.apps", workload("Deployment", "web", 3))
	apply(t, ns, `
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: auto}, spec: {minReplicas: 2, maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: guard}, spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}}
---
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: other}, spec: {minReplicas: 2, maxReplicas: 9, scaleTargetRef: {apiVersion: batch.tutorial.kubebuilder.io/v1alpha1, kind: ImoocPod, name: foo}}}`)
	imoocpod(t, ns, "create", "foo", "--replicas", "2")
	eventually(t, "the Deployment has pods", func() bool { return len(statusOf(t, ns, "deployment/web").Pods) == 3 })
	set := strings.TrimSpace(must(t, kubectl(t, ns, "get", "replicaset", "-o", "jsonpath={.items[0].metadata.name}")))
	const auto, guard = "Warning: deployment.apps/web: HorizontalPodAutoscaler/auto keeps its number of pods between 2 and 9\n",
		"Warning: deployment.apps/web: PodDisruptionBudget/guard wants at least 2 of its pods available, and there would be 1\n"
	for _, test := range []struct{ args, want string }{
		{"deployment/web --replicas 4 --dry-run=server", auto},
		{"deployment/web --by=-2 --dry-run=server", auto + guard},
		{"replicaset/" + set + " --replicas 5 --dry-run=server", "Warning: replicaset.apps/" + set + ": Deployment/web controls it, and may set its number of pods\n"},
		{"foo --replicas 3", ""},
		{"foo --replicas 3 --timeout 1s --dry-run=server", "Warning: " + strings.TrimSuffix(scaledFoo, " scaled") + ": HorizontalPodAutoscaler/other keeps its number of pods between 2 and 9\n"},
	} {
		if r := kubectl(t, ns, append([]string{"imoocpod", "scale"}, words(test.args)...)...); r.code != 0 || r.stderr != test.want {
			t.Errorf("scale %s: exit code %d, said %q, want %q", test.args, r.code, r.stderr, test.want)
		}
	}
}

// What would delete the objects of others is refused.
func TestRefusedUninstall(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	imoocpod(t, ns, "create", "foo")
	r := kubectl(t, ns, "imoocpod", "uninstall", "--crds")
	if r.code != exitPrecondition || !strings.Contains(r.stderr, "error: refused: removing imoocpods.batch.tutorial.kubebuilder.io would delete the ") {
		t.Errorf("exit code %d, said %q", r.code, r.stderr)
	}
}

// What will not become ready without help ends the wait when the patience is
// over, and not when that is without end.
func TestFailsEarly(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	startLoop(t, ns)
	apply(t, ns, `{apiVersion: v1, kind: ResourceQuota, metadata: {name: few}, spec: {hard: {pods: "1"}}}`)
	eventually(t, "the quota is in force", func() bool {
		return strings.Contains(must(t, kubectl(t, ns, "get", "resourcequota", "few", "-o", "jsonpath={.status.hard}")), "pods")
	})
	r := kubectl(t, ns, "imoocpod", "create", "foo", "--replicas", "2", "--wait", "--fail-after", "1s")
	if r.code != exitFailed || !strings.Contains(r.stderr, "error: imoocpod.batch.tutorial.kubebuilder.io/foo has failed: ") || !strings.Contains(r.stderr, "exceeded quota: few") {
		t.Errorf("exit code %d, said %q", r.code, r.stderr)
	}
	r = kubectl(t, ns, "imoocpod", "wait", "foo", "--timeout", "5s", "--fail-after", "0", "--fail-fast=false")
	if r.code != exitTimeout || !strings.Contains(r.stderr, "timed out; last seen: failed: ") {
		t.Errorf("exit code %d, said %q", r.code, r.stderr)
	}
	// Help comes in time.
	w := startPlugin(t, "wait", "foo", "-n", ns, "--timeout", "1h", "--fail-after", "1h")
	w.says("failed: ")
	must(t, kubectl(t, ns, "delete", "resourcequota", "few"))
	if code := w.ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// The pod that will not come up is named, with its last events and what to do,
// in the words of status.
func TestFailsWithTheCulprit(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	startLoop(t, ns)
	apply(t, ns, ailing("sick", oneContainer, waiting(0, "ImagePullBackOff", `Back-off pulling image "web:v2": ErrImagePull: web:v2: not found`, "")))
	tells(t, ns, "sick", expected{status.Failed, status.CodeImagePullFailed, "container web cannot pull its image web:v2", "imagePullSecrets"})
	for _, args := range []string{"wait sick --fail-after 0 --timeout 5m", "scale sick --replicas 3 --fail-after 1s --timeout 5m", "restart sick --wait --fail-after 1s"} {
		r := kubectl(t, ns, append([]string{"imoocpod"}, words(args)...)...)
		_, said, _ := strings.Cut(r.stderr, "error: ")
		matched := regexp.MustCompile(`(?s)^imoocpod\.batch\.tutorial\.kubebuilder\.io/sick has failed: .*container web cannot pull its image web:v2: .*\n  pod/sick-[0-9a-f]{8}-\d: Normal Scheduled: .*\nhint: .*imagePullSecrets.*\n$`)
		if r.code != exitFailed || !matched.MatchString(said) {
			t.Errorf("%s: exit code %d, said %q", args, r.code, r.stderr)
		}
	}
}

// Of the outcomes of several objects each is told, and the gravest is the exit
// code.
func TestSeveralOutcomes(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	imoocpod(t, ns, "create", "waits", "--replicas", "1") // for a loop
	makeObject(t, ns, "deployments.apps", workload("Deployment", "ready", 0))
	// The server refuses its pods, which the ReplicaSet controller reports at once.
	apply(t, ns, `{apiVersion: v1, kind: ResourceQuota, metadata: {name: none}, spec: {hard: {pods: "0"}}}`)
	makeObject(t, ns, "deployments.apps", workload("Deployment", "refused", 1))
	eventually(t, "the Deployment is refused its pods", func() bool {
		return strings.Contains(imoocpod(t, ns, "status", "deployment/refused"), "failed: ")
	})
	blind := newUser(t, ns, "get")
	for _, test := range []struct {
		args string
		code int
		says []string
	}{
		{"wait deployment/ready", 0, nil},
		{"wait imoocpod/waits deployment/ready", exitTimeout, []string{"waits to be ready: timed out; last seen: not reconciled"}},
		{"wait imoocpod/waits deployment/refused deployment/ready --fail-after 0", exitFailed, []string{"deployment.apps/refused has failed: ", "exceeded quota: none", "waits to be ready: timed out"}},
		{"wait imoocpod/waits imoocpod/none deployment/refused --fail-after 0", exitNotFound, []string{"has failed", `"none" not found`, "timed out"}},
		{"scale imoocpod/waits imoocpod/none --replicas 2 --current-replicas 7", exitNotFound, []string{`"none" not found`, "to be 7, was 1"}},
		{"scale imoocpod/waits deployment/refused --replicas 2 --current-replicas 1 --fail-after 0", exitFailed, []string{"has failed", "timed out"}},
		{"wait imoocpod/none imoocpod/waits --as " + blind, exitForbidden, []string{"cannot list resource"}},
	} {
		args := words(test.args)
		if !strings.Contains(test.args, "current-replicas 7") {
			args = append(args, "--timeout", "5s")
		}
		r := kubectl(t, ns, append([]string{"imoocpod"}, args...)...)
		if r.code != test.code {
			t.Errorf("%s: exit code %d, want %d; said %s", test.args, r.code, test.code, r.stderr)
		}
		for _, words := range test.says {
			if !strings.Contains(r.stderr, words) {
				t.Errorf("%s: said %q, want %q in it", test.args, r.stderr, words)
			}
		}
	}
}
