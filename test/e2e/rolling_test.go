package e2e

import (
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// A new template replaces the pods a quarter at a time; a broken one stops after
// the first quarter and is mended by the next; and the loop may be killed in the
// middle. There are never more pods than slots.
func TestRollingReplacement(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	w := watchPods(t, ns)
	l := startLoop(t, ns)
	imoocpod(t, ns, "create", "foo", "--replicas", "8")
	w.settles(t, "foo", 8)
	foo := w.imp("foo")
	fewest := w.fewestHealthy()
	first := w.owned("foo")

	// A status of before the change tells nothing of it.
	updated := func() int32 {
		if s := w.imps["foo"].Status; s.ObservedGeneration == w.imps["foo"].Generation {
			return s.UpdatedReplicas
		}
		return -1
	}
	generation := foo.Generation
	patchFoo(t, ns, `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"next"}]}}}}`)
	w.until(t, "some pods are new", func() bool { return w.imps["foo"].Generation > generation && updated() > 0 })
	l.kill()
	startLoop(t, ns, "--leader-elect=false")
	w.until(t, "all pods are new", func() bool { return updated() == 8 })
	w.settles(t, "foo", 8)
	for _, pod := range first {
		if w.pod(pod.UID) != nil {
			t.Errorf("pod %s is still there", pod.Name)
		}
	}

	patchFoo(t, ns, `{"spec":{"template":{"spec":{"nodeSelector":{"no":"node"}}}}}`)
	w.until(t, "the broken template has its quarter", func() bool { return updated() == 2 })
	w.quiet(t, quietFor)
	if s := w.imp("foo").Status; s.UpdatedReplicas != 2 || s.ReadyReplicas != 6 {
		t.Errorf("a broken template has gone on: %+v", s)
	}
	if c := condition(w.imp("foo"), apis.ConditionProgressing); c.Reason != "RollingOut" || c.Message != "2 of 8 pods are updated" {
		t.Errorf("progressing is %s: %s", c.Reason, c.Message)
	}
	made := w.everMade(foo.UID)

	// Back to what the other pods are made from: they stay.
	patchFoo(t, ns, `{"spec":{"template":{"spec":{"nodeSelector":null}}}}`)
	w.until(t, "all pods are of one template", func() bool { return w.imps["foo"].Generation > generation+2 && updated() == 8 })
	w.settles(t, "foo", 8)
	if more := w.everMade(foo.UID) - made; more != 2 {
		t.Errorf("%d pods were made to undo what had come to 2", more)
	}
	if n := fewest(); n < 6 {
		t.Errorf("at one moment %d pods were ready, of which a quarter of 8 may be missing", n)
	}
	if most := w.mostLive(foo.UID); most != 8 {
		t.Errorf("%d pods were there at once for 8 slots", most)
	}
}
