package e2e

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
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
	cluster.Imoocpod(t, ns, "pause", "foo", "--for", "2h", "--reason", "INC-7")
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

	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "5")
	cluster.Imoocpod(t, ns, "restart", "foo")
	harness.Eventually(t, "the loop has seen the changes", func() bool {
		imp := cluster.ImoocPod(t, ns, "foo")
		return imp.Status.ObservedGeneration == imp.Generation
	})
	if r := cluster.Kubectl(t, ns, "imoocpod", "wait", "foo", "--timeout", "5m"); r.Code != harness.ExitFailed {
		t.Errorf("exit code %d, said %q", r.Code, r.Stderr)
	}
	if now := cluster.Requests(t, ns, writesOfPods); len(now) > before {
		t.Errorf("%d writes of pods while it is paused, such as %+v", len(now)-before, now[before])
	}
	l.AwaitOutput("foo: paused until ")

	cluster.Imoocpod(t, ns, "resume", "foo")
	cluster.Imoocpod(t, ns, "wait", "foo", "--timeout", "2m")
	awaitPaused(t, ns, metav1.ConditionFalse)
	if n := len(cluster.PodsOf(t, ns, foo.UID)); n != 5 {
		t.Errorf("there are %d pods, want 5", n)
	}
	harness.Eventually(t, "events report it", func() bool {
		events := cluster.Events(t, ns, foo.UID)
		return strings.Contains(events, "Normal Paused: paused until ") && strings.Contains(events, "Normal Resumed: resumed\n")
	})
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

// A controller that is to exit when done does not wait for paused objects.
func TestOnceWithAPausedObject(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "0")
	cluster.Imoocpod(t, ns, "pause", "foo", "--reason", "INC-7")
	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "1")
	if r := cluster.Kubectl(t, ns, "imoocpod", "run-controller", "--dry-run"); harness.Must(t, r) == "" || !strings.Contains(r.Stdout, "blocked: paused until ") {
		t.Errorf("the dry run printed %q", r.Stdout)
	}
	if r := cluster.Kubectl(t, ns, "imoocpod", "run-controller", "--once", "--timeout", "5m"); r.Code != harness.ExitFailed || !strings.Contains(r.Stderr, "imoocpod.batch.tutorial.kubebuilder.io/foo is paused: ") {
		t.Errorf("run-controller --once: exit code %d, said %q", r.Code, r.Stderr)
	}
}
