package e2e

import (
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

	if most := w.MostLive(foo.UID); most != 4 {
		t.Errorf("%d pods were there at once, of which 4 were wanted", most)
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
