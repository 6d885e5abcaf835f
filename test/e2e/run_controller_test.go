package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestScaleWithTheControllerRunning tests the main use case. A scale to three pods takes one write by the user and
// three creates by the controller.
func TestScaleWithTheControllerRunning(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	p := cluster.StartRunController(t, ns, "--declared-kinds")
	p.AwaitOutput("in namespace " + ns)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "0")
	foo := cluster.ImoocPod(t, ns, "foo")
	cluster.AwaitConverged(t, ns, "foo", 0) // otherwise, the first status could conflict with the scale

	// Scale as another user, to find the requests of this command in the audit log.
	out := cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "3", "--as", "scaler", "--as-group", "system:masters")
	if want := "imoocpod.batch.tutorial.kubebuilder.io/foo scaled\n"; out != want {
		t.Errorf("scale printed %q, want %q", out, want)
	}
	cluster.AwaitConverged(t, ns, "foo", 3)
	scaling := cluster.Requests(t, ns, func(r harness.Request) bool {
		return r.ImpersonatedUser != nil && r.ImpersonatedUser.Username == "scaler" && r.Writes()
	})
	if len(scaling) != 1 || scaling[0].Verb != "patch" || scaling[0].Resource() != "imoocpods" {
		t.Errorf("write requests of the scale = %+v, want one PATCH of imoocpods", scaling)
	}
	creates := cluster.Requests(t, ns, func(r harness.Request) bool { return r.Verb == "create" && r.Resource() == "pods" })
	if len(creates) != 3 {
		t.Errorf("%d pods were created, want 3", len(creates))
	}
	if most, made := w.MostLive(foo.UID), w.EverCreated(foo.UID); most != 3 || made != 3 {
		t.Errorf("saw up to %d pods at once and %d in total, want 3 and 3", most, made)
	}
	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "1", "--timeout", "1m")
	pods := slices.DeleteFunc(cluster.PodsOf(t, ns, foo.UID), func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
	if len(pods) != 1 {
		t.Errorf("%d pods are not terminating after a scale to 1 with a wait, want 1", len(pods))
	}
	cluster.AwaitConverged(t, ns, "foo", 1)
	p.AwaitOutput("foo: 0 → 3 pods: creating 3")
	p.AwaitOutput("foo: 3 → 1 pod: deleting 2")
	if code := p.Stop(); code != 0 {
		t.Errorf("exit code of run-controller after Ctrl-C = %d, want 0", code)
	}
	// The controller logs no errors or warnings, even if the server lacks optional features.
	alarm := regexp.MustCompile(`(?i)cannot|error|fail|warn|forbidden|refused|trying again|^[EW]\d{4} `)
	for _, line := range p.Lines() {
		if alarm.MatchString(line) && !strings.Contains(line, ".example.com") {
			t.Errorf("the log has a warning or an error: %q", line)
		}
	}
}

// quota limits the number of pods in a namespace, and waits until the API server enforces it. The status
// of the quota is not enough, because the admission plugin has caches, including one for namespaces
// without a quota. So this function tries a dry-run create of a Secret, which the quota forbids.
func quota(t *testing.T, namespace, pods string) {
	t.Helper()
	cluster.Apply(t, namespace, fmt.Sprintf(`{apiVersion: v1, kind: ResourceQuota, metadata: {name: few}, spec: {hard: {secrets: "0", pods: %q}}}`, pods))
	probe := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}
	harness.Eventually(t, "the quota is in force", func() bool {
		_, err := cluster.Core.Secrets(namespace).Create(t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), "exceeded quota: few")
	})
}
