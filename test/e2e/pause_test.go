package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// writesOfPods matches a controller's writes of pods and revisions.
func writesOfPods(r harness.Request) bool {
	return harness.ByPlugin(r) && r.Writes() && (strings.HasPrefix(r.Resource(), "pods") || r.Resource() == "controllerrevisions")
}

// awaitPaused waits until the Paused condition of foo has the wanted status.
func awaitPaused(t *testing.T, namespace string, want metav1.ConditionStatus) {
	t.Helper()
	harness.Eventually(t, "the condition Paused is "+string(want), func() bool {
		return harness.Condition(cluster.ImoocPod(t, namespace, "foo"), apis.ConditionPaused).Status == want
	})
}

// Whatever happens to a paused object and its pods, the controller writes no pod. It
// keeps the status up to date, and catches up when the object is resumed.
func TestPausedUnderChaos(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	l := cluster.StartRunController(t, ns)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "4", "--wait")
	foo := cluster.ImoocPod(t, ns, "foo")
	r := cluster.Kubectl(t, ns, "imoocpod", "pause", "foo", "--for", "2h", "--reason", "INC-7")
	if out := harness.Must(t, r); out != "imoocpod.batch.tutorial.kubebuilder.io/foo paused\n" ||
		!strings.HasPrefix(r.Stderr, "imoocpod/foo: paused until ") || !strings.HasSuffix(r.Stderr, " (2h): INC-7\n") {
		t.Errorf("pause printed %q and said %q", r.Stdout, r.Stderr)
	}
	awaitPaused(t, ns, metav1.ConditionTrue)
	before := len(cluster.Requests(t, ns, writesOfPods))
	counted := func(n int32) {
		t.Helper()
		harness.Eventually(t, "the status counts the pods", func() bool { return cluster.ImoocPod(t, ns, "foo").Status.Replicas == n })
	}
	pods := cluster.PodsOf(t, ns, foo.UID)
	harness.Must(t, cluster.Kubectl(t, ns, "delete", "pod", pods[0].Name))
	counted(3)
	harness.Must(t, cluster.Kubectl(t, ns, "delete", "pod", pods[1].Name, "--force", "--grace-period=0"))
	counted(2)
	harness.Must(t, cluster.Kubectl(t, ns, "label", "pod", pods[2].Name, apis.LabelOwner+"-", apis.LabelSlot+"-"))
	cluster.PatchPodStatus(t, ns, pods[3].Name, map[string]any{"phase": "Failed"})
	counted(1) // a pod without labels still counts

	// Commands that change the object report that the change has to wait.
	for _, line := range []string{"scale foo --replicas 5", "restart foo"} {
		r := cluster.Kubectl(t, ns, append([]string{"imoocpod"}, harness.Words(line)...)...)
		if harness.Must(t, r); !strings.Contains(r.Stderr, "Warning: imoocpod/foo is paused until ") || !strings.Contains(r.Stderr, ": INC-7; the change will be applied then\n") {
			t.Errorf("%s said %q", line, r.Stderr)
		}
	}
	harness.Eventually(t, "the loop has seen the changes", func() bool {
		imp := cluster.ImoocPod(t, ns, "foo")
		return imp.Status.ObservedGeneration == imp.Generation
	})
	for _, line := range []string{"wait foo --timeout 5m", "scale foo --replicas 5 --timeout 5m", "restart foo --wait", "status foo --exit-code", "status foo --wait"} {
		var r harness.Result
		harness.Eventually(t, "a second has passed since the last restart", func() bool {
			r = cluster.Kubectl(t, ns, append([]string{"imoocpod"}, harness.Words(line)...)...)
			return !strings.Contains(r.Stderr, "less than a second ago")
		})
		if r.Code != harness.ExitFailed || !strings.Contains(r.Stderr, "imoocpod/foo is paused: ") && !strings.Contains(r.Stderr, "imoocpod.batch.tutorial.kubebuilder.io/foo is paused: ") {
			t.Errorf("%s: exit code %d, said %q", line, r.Code, r.Stderr)
		}
	}
	var report status.Report
	if err := json.Unmarshal([]byte(cluster.Imoocpod(t, ns, "status", "foo", "-o", "json")), &report); err != nil {
		t.Fatal(err)
	}
	if report.Verdict != status.Paused || report.ReasonCode != problem.CodePausedByUser || report.Hint != "kubectl imoocpod resume imoocpod/foo -n "+ns ||
		report.Pause == nil || report.Pause.Reason != "INC-7" || report.Pause.By == "" || time.Until(report.Pause.Until.Time) < time.Hour {
		t.Errorf("the report is %+v", report)
	}
	if out := cluster.Imoocpod(t, ns, "describe", "foo"); !strings.Contains(out, "Paused:") || !strings.Contains(out, " left)\n") {
		t.Errorf("describe printed\n%s", out)
	}
	if now := cluster.Requests(t, ns, writesOfPods); len(now) > before {
		t.Errorf("%d writes of pods while it is paused, such as %+v", len(now)-before, now[before])
	}
	l.AwaitOutput("foo: paused until ")

	r = cluster.Kubectl(t, ns, "imoocpod", "pause", "foo", "--for", "forever")
	if harness.Must(t, r); !strings.HasPrefix(r.Stderr, "imoocpod/foo: paused forever; was paused until ") || !strings.HasSuffix(r.Stderr, ": INC-7\n") {
		t.Errorf("pause again said %q", r.Stderr)
	}
	if r := cluster.Kubectl(t, ns, "imoocpod", "check"); !strings.Contains(r.Stdout, "1 object paused, 1 of them forever or for more than a day: kubectl imoocpod status --only=paused -n "+ns) {
		t.Errorf("check printed\n%s", r.Stdout)
	}
	r = cluster.Kubectl(t, ns, "imoocpod", "resume", "foo")
	if out := harness.Must(t, r); out != "imoocpod.batch.tutorial.kubebuilder.io/foo resumed\n" || !strings.HasPrefix(r.Stderr, "imoocpod/foo: was paused forever by ") {
		t.Errorf("resume printed %q and said %q", r.Stdout, r.Stderr)
	}
	cluster.Imoocpod(t, ns, "wait", "foo", "--timeout", "2m")
	awaitPaused(t, ns, metav1.ConditionFalse)
	if n := len(cluster.PodsOf(t, ns, foo.UID)); n != 5 {
		t.Errorf("there are %d pods, want 5", n)
	}
	harness.Eventually(t, "events report it", func() bool {
		events := cluster.Events(t, ns, foo.UID)
		return strings.Contains(events, "Normal Paused: paused until ") && strings.Contains(events, "Normal Resumed: resumed\n")
	})
	r = cluster.Kubectl(t, ns, "imoocpod", "resume", "foo")
	if out := harness.Must(t, r); out != "imoocpod.batch.tutorial.kubebuilder.io/foo unchanged\n" || r.Stderr != "imoocpod/foo: was not paused\n" {
		t.Errorf("resume again printed %q and said %q", r.Stdout, r.Stderr)
	}
}

// If a controller dies while an object is paused, the next one respects the pause, and
// continues when it ends. Paused objects can be deleted.
func TestPauseOutlivesTheController(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	first := cluster.StartRunController(t, ns)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "1", "--wait")
	cluster.Imoocpod(t, ns, "pause", "foo", "--for", "20s")
	awaitPaused(t, ns, metav1.ConditionTrue)
	first.Kill()
	cluster.Kubectl(t, ns, "imoocpod", "scale", "foo", "--replicas", "2")
	second := cluster.StartRunController(t, ns)
	second.AwaitOutput("foo: paused until ")
	foo := cluster.ImoocPod(t, ns, "foo")
	end, err := time.Parse(time.RFC3339, foo.Annotations[apis.AnnotationPausedUntil])
	if err != nil {
		t.Fatal(err)
	}
	cluster.AwaitConverged(t, ns, "foo", 2)
	made := end
	for _, pod := range cluster.PodsOf(t, ns, foo.UID) {
		if at := pod.CreationTimestamp.Time; at.After(foo.CreationTimestamp.Time) && pod.Name == podName(foo, 1) {
			made = at
		}
	}
	if made.Before(end) {
		t.Errorf("a pod was made at %s, and the pause ended at %s", made, end)
	}
	t.Logf("the pause ended at %s, and the pod was made at %s", end, made)
	second.AwaitOutput("foo: resumed: the pause ended at ")
	awaitPaused(t, ns, metav1.ConditionFalse)
	r := cluster.Kubectl(t, ns, "imoocpod", "resume", "foo")
	if harness.Must(t, r); !strings.HasPrefix(r.Stderr, "imoocpod/foo: its pause had ended at ") {
		t.Errorf("resume said %q", r.Stderr)
	}
	cluster.Imoocpod(t, ns, "pause", "foo", "--for", "forever")
	awaitPaused(t, ns, metav1.ConditionTrue)
	cluster.Imoocpod(t, ns, "delete", "foo", "--cascade=foreground", "--timeout", "2m")
}

// switchCRD is a kind with a field that pauses its controller.
const switchCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: switches.pause.example.com}
spec:
  group: pause.example.com
  names: {kind: Switch, plural: switches, singular: switch}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {replicas: {type: integer}, suspend: {type: boolean}}}}}}
`

// Foreign objects are paused with the field in their schema, and only if the user
// confirms that the pause does not end by itself. Without a controller, pause warns.
func TestPauseVerbs(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Apply(t, "", switchCRD)
	cluster.AwaitEstablished(t, "crd/switches.pause.example.com")
	cluster.Apply(t, ns, "{apiVersion: pause.example.com/v1, kind: Switch, metadata: {name: one}, spec: {replicas: 0}}")
	const selector = "selector: {matchLabels: {app: web}}"
	cluster.Apply(t, ns, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 0, "+selector+", template: "+somePod+"}}")
	cluster.Apply(t, ns, "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: few}, spec: {replicas: 0, "+selector+", template: "+somePod+"}}")
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "0")
	const foo = "imoocpod.batch.tutorial.kubebuilder.io/foo "
	for _, step := range []struct {
		line, out, says string
		code            int
	}{
		{"pause deployment/web", "", "error: deployment/web cannot be paused for 1h: another controller reconciles it, and nothing would unset .spec.paused\n" +
			"hint: kubectl imoocpod pause deployment/web --for forever -n " + ns + "\n", harness.ExitError},
		{"pause deployment/web --for forever --reason INC-7", "", "error: deployment/web cannot be paused with --reason: another controller reconciles it, and .spec.paused holds no text\n", harness.ExitError},
		{"pause replicaset/few --for forever", "", "error: replicaset/few cannot be paused: its type has no switch for that: no boolean field .spec.paused, .spec.suspend or .spec.updateStrategy.paused\n", harness.ExitError},
		{"pause deployment/web --for forever --dry-run", "deployment.apps/web paused (dry run)\n", "deployment/web: setting .spec.paused to true (dry run)\n", 0},
		{"pause deployment/web switch/one --for forever", "deployment.apps/web paused\nswitch.pause.example.com/one paused\n",
			"deployment/web: setting .spec.paused to true\nswitch/one: setting .spec.suspend to true\n", 0},
		{"pause switch/one --for forever", "switch.pause.example.com/one unchanged\n", "switch/one: .spec.suspend is already true\n", 0},
		{"resume deployment/web switch/one", "deployment.apps/web resumed\nswitch.pause.example.com/one resumed\n",
			"deployment/web: setting .spec.paused to false\nswitch/one: setting .spec.suspend to false\n", 0},
		{"pause foo --for 2", "", "See 'kubectl imoocpod pause --help' for usage.\n", harness.ExitUsage},
		{"pause foo --for 1ms", "", `must be a duration of at least 1s, such as 2h, or "forever"`, harness.ExitUsage},
		{"pause none", "", "not found", harness.ExitNotFound},
		{"pause foo --dry-run=server", foo + "paused (server dry run)\n", "(1h) (server dry run)\n", 0},
		{"resume foo", foo + "unchanged\n", "imoocpod/foo: was not paused\n", 0},
		{"pause foo", foo + "paused\n", "Warning: no controller runs for imoocpods in namespace " + ns, 0},
		{"status --only paused -o name", foo[:len(foo)-1] + "\n", "", 0},
		{"resume foo --dry-run", foo + "resumed (dry run)\n", "imoocpod/foo: was paused until ", 0},
		{"resume foo -o name", foo[:len(foo)-1] + "\n", "imoocpod/foo: was paused until ", 0},
		{"status --only paused", "", "none of 2 objects is paused\n", 0},
	} {
		r := cluster.Kubectl(t, ns, append([]string{"imoocpod"}, harness.Words(step.line)...)...)
		if r.Code != step.code || r.Stdout != step.out || !strings.Contains(r.Stderr, step.says) {
			t.Errorf("%s: exit code %d, printed %q, said %q", step.line, r.Code, r.Stdout, r.Stderr)
		}
	}

	// A controller that is to exit when done does not wait for paused objects.
	cluster.Imoocpod(t, ns, "pause", "foo", "--reason", "INC-7")
	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "1")
	if r := cluster.Kubectl(t, ns, "imoocpod", "run-controller", "--dry-run"); harness.Must(t, r) == "" || !strings.Contains(r.Stdout, "blocked: paused until ") {
		t.Errorf("the dry run printed %q", r.Stdout)
	}
	if r := cluster.Kubectl(t, ns, "imoocpod", "run-controller", "--once", "--timeout", "5m"); r.Code != harness.ExitFailed || !strings.Contains(r.Stderr, "imoocpod.batch.tutorial.kubebuilder.io/foo is paused: ") {
		t.Errorf("run-controller --once: exit code %d, said %q", r.Code, r.Stderr)
	}
}
