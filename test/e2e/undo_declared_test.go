package e2e

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// A kind declared only by its CRD goes from A to B and back, during and after a rollout:
// the template is A again, a count set in the meantime is kept, and no pod that
// already runs A is replaced.
func TestUndoOfADeclaredKind(t *testing.T) {
	t.Parallel()
	crd := gadget("undoing.example.com")
	kind := kindIn(t, crd)
	cluster.InstallKind(t, kind, crd)
	ns := cluster.NewNamespace(t)
	l := cluster.StartRunController(t, ns, "--kinds", kind.CRD())
	l.AwaitOutput("reconciling " + kind.CRD() + " (plan: pods)")
	w := cluster.WatchPods(t, ns)
	foo := cluster.NewOwner(t, ns, kind, "foo", map[string]any{"size": int64(3), "pod": map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{"note": "a: \"quoted\" <b> & 日本\n"}, "labels": map[string]any{"tier": "front"}},
		"spec": map[string]any{"containers": []any{
			map[string]any{"name": "main", "image": "web", "env": []any{map[string]any{"name": "EMPTY", "value": ""}}, "resources": map[string]any{"requests": map[string]any{"cpu": "0.5"}}},
		}},
	}})
	target := kind.String() + "/foo"
	ready := []string{"--wait", "--timeout", "2m"}
	run := func(args ...string) string { t.Helper(); return cluster.Imoocpod(t, ns, args...) }
	run(append([]string{"status", target}, ready...)...)
	uid, a := foo.Get().GetUID(), fieldsText(t, foo.Get(), "spec")
	runs := func(image string) (uids []types.UID) {
		for _, pod := range foo.LivePods() {
			if pod.Spec.Containers[0].Image == image {
				uids = append(uids, pod.UID)
			}
		}
		slices.Sort(uids)
		return uids
	}
	told := func(want ...string) {
		t.Helper()
		lines := strings.Split(strings.TrimSpace(run("history", target)), "\n")[1:]
		ok := len(lines) == len(want)
		for i := range min(len(lines), len(want)) {
			number, change, _ := strings.Cut(want[i], " ")
			ok = ok && strings.HasPrefix(lines[i], number+" ") && strings.HasSuffix(lines[i], " "+change)
		}
		if !ok {
			t.Errorf("the history is\n%s\nwant %q", strings.Join(lines, "\n"), want)
		}
	}

	// Pods not yet updated to B stay. Only the updated one is replaced.
	run("set", "image", target, "no-such-image")
	w.Until(t, "a pod waits for a missing image", func() bool {
		for _, pod := range w.Pods {
			if pod.Spec.Containers[0].Image == "no-such-image" && len(pod.Status.ContainerStatuses) > 0 {
				return true
			}
		}
		return false
	})
	still, created := runs("web"), w.EverCreated(uid)
	run(append([]string{"undo", target}, ready...)...)
	if got := fieldsText(t, foo.Get(), "spec"); got != a {
		t.Errorf("after the undo in mid-roll the spec is %s, want %s", got, a)
	}
	now := runs("web")
	if len(still) != 2 || len(now) != 3 || !slices.Contains(now, still[0]) || !slices.Contains(now, still[1]) || w.EverCreated(uid) != created+1 {
		t.Errorf("of the pods %v, %v run on, and %d were created", still, now, w.EverCreated(uid)-created)
	}
	told("3 image no-such-image → web (undo to 1)", "2 image web → no-such-image")

	run(append([]string{"set", "image", target, "web:2"}, ready...)...)
	run(append([]string{"scale", target, "--replicas", "4"}, ready...)...)
	b := foo.Get()
	if pods := runs("web:2"); len(pods) != 4 {
		t.Errorf("%s is ready, and %d pods run web:2", target, len(pods))
	}
	r := cluster.Kubectl(t, ns, "imoocpod", "undo", target, "--dry-run=server")
	if harness.Must(t, r); !strings.Contains(r.Stderr, "web:2") || foo.Get().GetGeneration() != b.GetGeneration() {
		t.Errorf("the dry run said %q, and left generation %d of %d", r.Stderr, foo.Get().GetGeneration(), b.GetGeneration())
	}
	created = w.EverCreated(uid)
	run(append([]string{"undo", target}, ready...)...)
	undone := foo.Get()
	if got, want := fieldsText(t, undone, "spec"), strings.Replace(a, `"size":3`, `"size":4`, 1); got != want {
		t.Errorf("after the undo the spec is %s, want %s", got, want)
	}
	if pods := runs("web"); len(pods) != 4 || w.EverCreated(uid) != created+4 {
		t.Errorf("%d pods run web, and %d were created", len(pods), w.EverCreated(uid)-created)
	}
	told("5 image web:2 → web (undo to 3)", "4 image web → web:2", "2 image web → no-such-image")

	// An undo to the current template changes neither the object nor its pods.
	pods := runs("web")
	if r := cluster.Kubectl(t, ns, "imoocpod", "undo", target, "--to-revision", "5"); harness.Must(t, r) != "" || r.Stderr != "gadget/foo is already at revision 5: nothing to undo\n" {
		t.Errorf("undo to the current revision printed %q, said %q", r.Stdout, r.Stderr)
	}
	if foo.Get().GetGeneration() != undone.GetGeneration() || !slices.Equal(runs("web"), pods) {
		t.Error("undo to the current revision changed something")
	}
	if most := w.MostLive(uid); most > 4 {
		t.Errorf("%d live pods at once for 4 slots", most)
	}
}
