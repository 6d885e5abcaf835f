package e2e

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// A new template replaces a quarter of the pods at a time. A broken template stops after
// the first quarter and the next template fixes it, even if the controller is killed in
// the middle. There are never more pods than slots.
func TestRollingReplacement(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	l := cluster.StartRunController(t, ns)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "8")
	w.AwaitConverged(t, "foo", 8)
	foo := w.ImoocPod("foo")
	fewest := w.FewestHealthy()
	first := w.Owned("foo")

	// updated returns the number of updated pods, or -1 if the status is outdated.
	updated := func() int32 {
		if s := w.ImoocPods["foo"].Status; s.ObservedGeneration == w.ImoocPods["foo"].Generation {
			return s.UpdatedReplicas
		}
		return -1
	}
	generation := foo.Generation
	cluster.PatchFoo(t, ns, `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"next"}]}}}}`)
	w.Until(t, "some pods are new", func() bool { return w.ImoocPods["foo"].Generation > generation && updated() > 0 })
	l.Kill()
	cluster.StartRunController(t, ns, "--leader-elect=false")
	w.Until(t, "all pods are new", func() bool { return updated() == 8 })
	w.AwaitConverged(t, "foo", 8)
	for _, pod := range w.Owned("foo") {
		if slices.ContainsFunc(first, func(p *corev1.Pod) bool { return p.UID == pod.UID }) {
			t.Errorf("pod %s is still there", pod.Name)
		}
	}

	cluster.PatchFoo(t, ns, `{"spec":{"template":{"spec":{"nodeSelector":{"no":"node"}}}}}`)
	w.Until(t, "the broken template has its quarter", func() bool { return updated() == 2 })
	w.AwaitQuiet(t, harness.QuietFor)
	if s := w.ImoocPod("foo").Status; s.UpdatedReplicas != 2 || s.ReadyReplicas != 6 {
		t.Errorf("a broken template has gone on: %+v", s)
	}
	if c := harness.Condition(w.ImoocPod("foo"), apis.ConditionProgressing); c.Reason != "RollingOut" || c.Message != "2 of 8 pods updated" {
		t.Errorf("progressing is %s: %s", c.Reason, c.Message)
	}
	made := w.EverCreated(foo.UID)

	// Return to the template of the other pods, so that these stay.
	cluster.PatchFoo(t, ns, `{"spec":{"template":{"spec":{"nodeSelector":null}}}}`)
	w.Until(t, "all pods have the same template", func() bool { return w.ImoocPods["foo"].Generation > generation+2 && updated() == 8 })
	w.AwaitConverged(t, "foo", 8)
	if more := w.EverCreated(foo.UID) - made; more != 2 {
		t.Errorf("%d pods were made to undo what had come to 2", more)
	}
	if n := fewest(); n < 6 {
		t.Errorf("at one moment %d pods were ready, of which a quarter of 8 may be missing", n)
	}
	if most := w.MostLive(foo.UID); most != 8 {
		t.Errorf("%d pods were there at once for 8 slots", most)
	}
}
