package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// expected is the explanation that users and scripts get for an object that is not
// ready.
type expected struct {
	verdict status.Verdict
	code    problem.Code
	// reason and hint are substrings of the explanation.
	reason, hint string
}

// explains waits until the JSON status of an object has the expected problem, and checks the
// other outputs against it.
func explains(t *testing.T, namespace, object string, want expected) status.Report {
	t.Helper()
	var r status.Report
	harness.Eventually(t, fmt.Sprintf("%s is %s for %s", object, want.verdict, want.code), func() bool {
		r = status.Report{}
		if err := json.Unmarshal([]byte(cluster.Imoocpod(t, namespace, "status", object, "-o", "json")), &r); err != nil {
			t.Fatal(err)
		}
		return r.Verdict == want.verdict && r.ReasonCode == want.code && strings.Contains(r.Reason, want.reason)
	})
	if !strings.Contains(r.Hint, want.hint) {
		t.Errorf("%s: the hint is %q, want %q in it", object, r.Hint, want.hint)
	}
	// The wording may change between commands, because it includes counts and times, but it
	// always contains the expected part.
	first, _, _ := strings.Cut(cluster.Imoocpod(t, namespace, "status", object), "\n")
	if said := fmt.Sprintf(": %s: ", want.verdict); !strings.Contains(first, said) || !strings.Contains(first, want.reason) {
		t.Errorf("status %s says %q, want %q and %q", object, first, said, want.reason)
	}
	described := cluster.Imoocpod(t, namespace, "describe", object)
	for line := range strings.Lines(described) {
		if rest, found := strings.CutPrefix(line, "Verdict:"); found && (!strings.HasPrefix(strings.TrimSpace(rest), string(want.verdict)+": ") || !strings.Contains(rest, want.reason)) {
			t.Errorf("describe %s says %q, want %q and %q", object, rest, want.verdict, want.reason)
		}
	}
	if want.hint != "" && !strings.Contains(described, want.hint) {
		t.Errorf("describe %s does not have the hint %q:\n%s", object, want.hint, described)
	}
	return r
}

// ailing returns the manifest of an ImoocPod with two pods. kwok sets the status of the pods to
// podStatus.
func ailing(name, podSpec, podStatus string) string {
	return fmt.Sprintf(`
apiVersion: batch.tutorial.kubebuilder.io/v1alpha1
kind: ImoocPod
metadata: {name: %s}
spec:
  replicas: 2
  template:
    metadata:
      annotations:
        e2e/status: |
          %s
    spec: {terminationGracePeriodSeconds: 1, %s}
`, name, strings.ReplaceAll(strings.TrimSpace(podStatus), "\n", "\n          "), podSpec)
}

const (
	oneContainer = `containers: [{name: web, image: "web:v2"}]`
	notReady     = `conditions: [{type: Ready, status: "False", reason: ContainersNotReady}]`
)

// waiting returns the status of a pod with a waiting container.
func waiting(restarts int, reason, message, last string) string {
	return fmt.Sprintf("phase: Pending\n%s\ncontainerStatuses:\n- {name: web, image: web, imageID: \"\", ready: false, restartCount: %d, state: {waiting: {reason: %s, message: '%s'}}, lastState: {%s}}",
		notReady, restarts, reason, message, last)
}

// The controller reports once why pods do not become ready. All lines of its output have a time.
func TestControllerReportsFailingPods(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	l := cluster.StartRunController(t, ns)
	cluster.Apply(t, ns, ailing("foo", oneContainer, waiting(0, "ImagePullBackOff", `Back-off pulling image "web:v2": ErrImagePull: rpc error: code = NotFound desc = web:v2: not found`, "")))
	const why = "foo: 0 of 2 pods ready: container web cannot pull its image web:v2: web:v2: not found"
	l.AwaitOutput(why)
	explains(t, ns, "foo", expected{status.Failed, problem.CodeImagePullFailed, "2 of 2 pods", "imagePullSecrets"})
	l.Stop()
	if said := l.Output(); strings.Count(said, why) != 1 {
		t.Errorf("the controller printed\n%s", said)
	}
	for line := range strings.Lines(l.Output()) {
		if _, err := time.Parse(time.TimeOnly, strings.SplitN(line, " ", 2)[0]); err != nil {
			t.Errorf("a line without a time: %s", line)
		}
	}
}

// The reason why the scheduler finds no node is reported verbatim.
func TestReasonsOfTheControlPlane(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	sample := func(name, podSpec string) string {
		return fmt.Sprintf(`{apiVersion: batch.tutorial.kubebuilder.io/v1alpha1, kind: ImoocPod, metadata: {name: %s}, spec: {replicas: 2, template: {spec: {terminationGracePeriodSeconds: 1, %s}}}}`, name, podSpec)
	}
	t.Run("no node fits", func(t *testing.T) {
		t.Parallel()
		cluster.Apply(t, ns, sample("nowhere", oneContainer+`, nodeSelector: {no: such}`))
		r := explains(t, ns, "nowhere", expected{status.Failed, problem.CodeUnschedulable, "2 of 2 pods: no node fits: 0/", "kubectl get nodes"})
		if !strings.Contains(r.Reason, "didn't match Pod's node affinity/selector") {
			t.Errorf("not the scheduler's message: %s", r.Reason)
		}
	})
}

// The reason why pods cannot be created is reported for objects of the shipped kinds, with
// and without a Deployment, and for objects of the built-in kinds.
func TestReasonsOfRefusal(t *testing.T) {
	t.Parallel()
	const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {hostNetwork: true, containers: [{name: web, image: web}]}}}}`
	const set = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {replicas: 2, selector: {matchLabels: {c: d}}, template: {metadata: {labels: {c: d}}, spec: {hostNetwork: true, containers: [{name: db, image: db}]}}}}`
	const own = `{apiVersion: batch.tutorial.kubebuilder.io/v1alpha1, kind: ImoocPod, metadata: {name: foo}, spec: {replicas: 2, template: {spec: {hostNetwork: true, containers: [{name: web, image: web}]}}}}`
	for name, test := range map[string]struct {
		prepare func(t *testing.T, namespace string)
		want    expected
	}{
		"quota": {
			func(t *testing.T, ns string) { quota(t, ns, "0") },
			expected{status.Failed, problem.CodeQuotaExceeded, "cannot create more pods: exceeded quota: few", "kubectl describe quota -n "},
		},
		"admission": {
			func(t *testing.T, ns string) {
				harness.Must(t, cluster.Kubectl(t, "", "label", "namespace", ns, "pod-security.kubernetes.io/enforce=baseline"))
			},
			expected{status.Failed, problem.CodeAdmissionRefused, `pods are rejected: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)`, "fix the pod template"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := cluster.NewNamespace(t)
			test.prepare(t, ns)
			cluster.StartRunController(t, ns)
			for _, manifest := range []string{own, deployment, set} {
				cluster.Apply(t, ns, manifest)
			}
			objects := []string{"foo", "deployment/web", "statefulset/db"}
			if name == "quota" { // an AppService cannot violate the other policies
				cluster.Apply(t, ns, `{apiVersion: appcontroller.k8s.io/v1alpha1, kind: AppService, metadata: {name: shop}, spec: {deploymentName: shop, replicas: 2}}`)
				objects = append(objects, "appservice/shop")
			}
			for _, object := range objects {
				if r := explains(t, ns, object, test.want); len(r.Problems) != 1 || len(r.Problems[0].Pods) > 0 {
					t.Errorf("the problems of %s are %+v", object, r.Problems)
				}
			}
		})
	}
}
