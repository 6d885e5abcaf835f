package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// --remove deletes exactly that pod, and its slot is not filled again until --reuse.
func TestRemovePod(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	cluster.StartRunController(t, ns)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "4")
	w.AwaitConverged(t, "foo", 4)
	foo := w.ImoocPod("foo")
	pod := func(slot int32) string { return podName(foo, slot) }
	pods := func() map[string]bool { // by name and UID
		all := map[string]bool{}
		for _, pod := range w.Owned("foo") {
			all[pod.Name+" "+string(pod.UID)] = true
		}
		return all
	}
	expect := func(args, says string, gone, made []string, removed string) {
		t.Helper()
		before, ever := pods(), w.EverCreated(foo.UID)
		r := cluster.Kubectl(t, ns, strings.Fields("imoocpod scale foo --wait --timeout 5m "+args)...)
		if harness.Must(t, r); !strings.HasPrefix(r.Stderr, says) {
			t.Errorf("%s said %q, want %q", r.Line, r.Stderr, says)
		}
		w.AwaitConverged(t, "foo", int32(len(before)-len(gone)+len(made)))
		after := pods()
		if n := w.EverCreated(foo.UID) - ever; n != len(made) {
			t.Errorf("%s: %d pods were made, want %d", r.Line, n, len(made))
		}
		for name := range before {
			if short, _, _ := strings.Cut(name, " "); after[name] == slices.Contains(gone, short) {
				t.Errorf("%s: pod %s is there: %t", r.Line, name, after[name])
			}
		}
		for _, name := range made {
			if !slices.ContainsFunc(w.Owned("foo"), func(p *corev1.Pod) bool { return p.Name == name }) {
				t.Errorf("%s: pod %s is not there", r.Line, name)
			}
		}
		if got := w.ImoocPod("foo").Annotations[apis.AnnotationRemovedSlots]; got != removed {
			t.Errorf("%s: slots %q are removed, want %q", r.Line, got, removed)
		}
	}

	expect("--remove "+pod(1), "imoocpod/foo: 4 → 3, removing "+pod(1)+"\n", []string{pod(1)}, nil, "1")
	expect("--by +1", "imoocpod/foo: 3 → 4\n", nil, []string{pod(4)}, "1")
	expect("--remove "+pod(0)+","+pod(3), "imoocpod/foo: 4 → 2, removing "+pod(0)+", "+pod(3)+"\n", []string{pod(0), pod(3)}, nil, "0,1,3")
	expect("--replicas 4 --reuse", "imoocpod/foo: 2 → 4, reusing slots 0, 1\n", nil, []string{pod(0), pod(1)}, "3")
	expect("--replicas 3", "imoocpod/foo: 4 → 3\n", []string{pod(4)}, nil, "3")

	version := func() string { return w.ImoocPod("foo").ResourceVersion }
	before := version()
	for _, step := range []struct {
		args, says string
		code       int
	}{
		{"--remove " + pod(1) + " --dry-run=client", "imoocpod/foo: 3 → 2, removing " + pod(1) + " (dry run)\n", 0},
		{"--remove " + pod(1) + " --dry-run=server", "imoocpod/foo: 3 → 2, removing " + pod(1) + " (server dry run)\n", 0},
		{"--by +1 --reuse --dry-run=server", "imoocpod/foo: 3 → 4, reusing slot 3 (server dry run)\n", 0},
		{"--remove " + pod(3), "Error from server (NotFound): pods \"" + pod(3) + "\" not found\n", harness.ExitNotFound},
		{"--remove " + pod(1) + " --current-replicas 4", "error: precondition not met: expected the replicas of imoocpod/foo to be 4, was 3\n", harness.ExitPrecondition},
		{"--remove " + pod(1) + " --dry-run=client --current-replicas 4", "error: precondition not met: expected the replicas of imoocpod/foo to be 4, was 3\n", harness.ExitPrecondition},
		{"--remove X", `error: invalid pod name "X"`, harness.ExitUsage},
		{"--remove a,a", "error: --remove names pod a twice\n", harness.ExitUsage},
		{"--remove a --replicas 1", "error: --remove and --replicas cannot be used together\n", harness.ExitUsage},
		{"--remove a --by -1", "error: --remove and --by cannot be used together\n", harness.ExitUsage},
		{"--remove a --reuse", "error: --remove and --reuse cannot be used together\n", harness.ExitUsage},
		{"--remove a --replicas-path .spec.replicas", "error: --remove and --replicas-path cannot be used together\n", harness.ExitUsage},
	} {
		r := cluster.Kubectl(t, ns, strings.Fields("imoocpod scale foo "+step.args)...)
		if r.Code != step.code || !strings.HasPrefix(r.Stderr, step.says) {
			t.Errorf("%s: exit code %d, said %q, want %d, %q", r.Line, r.Code, r.Stderr, step.code, step.says)
		}
	}
	shown := cluster.Imoocpod(t, ns, "scale", "foo", "--remove", pod(1), "--dry-run=client", "-o", `jsonpath={.spec.replicas} {.metadata.annotations.imoocpod\.dev/removed-slots}`)
	if shown != "2 1,3" {
		t.Errorf("a dry run shows %q", shown)
	}
	w.AwaitQuiet(t, harness.QuietFor)
	if version() != before {
		t.Error("the object was changed unexpectedly")
	}
	if most := w.MostLive(foo.UID); most != 4 {
		t.Errorf("%d pods were there at once, of which 4 were wanted", most)
	}
}

// An unreadable list of removed slots deletes no pod, and is reported.
func TestInvalidRemovedSlots(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	cluster.StartRunController(t, ns)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "3")
	w.AwaitConverged(t, "foo", 3)
	made := w.EverCreated(w.ImoocPod("foo").UID)
	cluster.PatchFoo(t, ns, `{"metadata":{"annotations":{"`+apis.AnnotationRemovedSlots+`":"1;2"}},"spec":{"replicas":2}}`)
	w.Until(t, "the status tells", func() bool {
		c := harness.Condition(w.ImoocPods["foo"], apis.ConditionReplicaFailure)
		return c.Reason == "InvalidSpec" && c.Message == `the annotation imoocpod.dev/removed-slots cannot be read: "1;2" is not the number of a slot`
	})
	w.AwaitQuiet(t, harness.QuietFor)
	if n := len(w.Owned("foo")); n != 3 {
		t.Errorf("%d pods are left of 3", n)
	}
	// A change of the annotation alone triggers a reconcile.
	cluster.PatchFoo(t, ns, `{"metadata":{"annotations":{"`+apis.AnnotationRemovedSlots+`":"0"}}}`)
	w.AwaitConverged(t, "foo", 2)
	for _, pod := range w.Owned("foo") {
		if pod.Labels[apis.LabelSlot] == "0" {
			t.Error("the pod of slot 0 is there")
		}
	}
	if more := w.EverCreated(w.ImoocPod("foo").UID) - made; more != 0 {
		t.Errorf("%d pods were made to remove one", more)
	}
}

// Several users remove pods at the same time, and each removal takes effect.
func TestConcurrentRemove(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	cluster.StartRunController(t, ns)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "8")
	w.AwaitConverged(t, "foo", 8)
	foo := w.ImoocPod("foo")
	results := make(chan string)
	for _, slot := range []int32{1, 1, 4, 6} {
		go func() {
			r := cluster.Kubectl(t, ns, "imoocpod", "scale", "foo", "--remove", podName(foo, slot))
			results <- fmt.Sprintf("%d %d", slot, r.Code)
		}()
	}
	var all []string
	for range 4 {
		all = append(all, <-results)
	}
	slices.Sort(all)
	// The second removal of a pod finds it removed or gone.
	if got := strings.Join(all, ", "); got != fmt.Sprintf("1 0, 1 %d, 4 0, 6 0", harness.ExitPrecondition) && got != fmt.Sprintf("1 0, 1 %d, 4 0, 6 0", harness.ExitNotFound) {
		t.Errorf("slots and exit codes: %s", got)
	}
	w.AwaitConverged(t, "foo", 5)
	var slots []string
	for _, pod := range w.Owned("foo") {
		slots = append(slots, pod.Labels[apis.LabelSlot])
	}
	slices.Sort(slots)
	if got := strings.Join(slots, ","); got != "0,2,3,5,7" || w.EverCreated(foo.UID) != 8 {
		t.Errorf("the slots %s are left, and %d pods were made", got, w.EverCreated(foo.UID))
	}
}

// For a Deployment, the ReplicaSet controller gets a hint which pod to delete.
func TestRemovePodOfADeployment(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.CreateObject(t, ns, "deployments.apps", workload("Deployment", "web", 3))
	cluster.Imoocpod(t, ns, "wait", "deployment/web", "--timeout", "5m")
	list, err := cluster.Core.Pods(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before := podUIDs(t, ns)
	victim := list.Items[1]
	r := cluster.Kubectl(t, ns, "imoocpod", "scale", "deployment/web", "--remove", victim.Name, "--timeout", "5m")
	says := "deployment/web: 3 → 2, removing " + victim.Name + " if possible: the ReplicaSet controller deletes pods that are not ready first\n"
	if harness.Must(t, r); !strings.Contains(r.Stderr, says) {
		t.Errorf("%s said %q, want %q", r.Line, r.Stderr, says)
	}
	delete(before, victim.UID)
	harness.Eventually(t, "the pod is gone", func() bool { return !podUIDs(t, ns)[victim.UID] })
	if after := podUIDs(t, ns); len(after) != 2 {
		t.Errorf("%d pods are left", len(after))
	} else {
		for uid := range after {
			if !before[uid] {
				t.Error("another pod was deleted, too")
			}
		}
	}
	r = cluster.Kubectl(t, ns, "imoocpod", "scale", "deployment/web", "--by", "+1", "--reuse")
	if r.Code != harness.ExitError || r.Stderr != "error: deployment/web has no removed slots: only kinds whose pods run-controller creates have slots\n" {
		t.Errorf("%s: exit code %d, said %q", r.Line, r.Code, r.Stderr)
	}
}
