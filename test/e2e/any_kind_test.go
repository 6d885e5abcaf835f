package e2e

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Validation errors of a kind are shown verbatim.
func TestRulesOfAKind(t *testing.T) {
	t.Parallel()
	installKinds(t)
	const fleets = "fleets.cluster-scoped.example.com"
	for name, spec := range map[string]string{"static": "{replicas: 2}", "dynamic": "{region: south}"} {
		cluster.CreateObject(t, "", fleets, fmt.Sprintf("{apiVersion: cluster-scoped.example.com/v1, kind: Fleet, metadata: {name: %s}, spec: %s}", name, spec))
	}
	for args, says := range map[string]string{
		"fleet/static --replicas 6":                               "a fleet has no more than five nodes",
		"fleet/dynamic --replicas 3":                              "a dynamic fleet cannot become a static one",
		"fleet/static --replicas 6 --dry-run=server":              "a fleet has no more than five nodes",
		"fleet/static --replicas 6 --replicas-path spec.replicas": "a fleet has no more than five nodes",
	} {
		r := cluster.Kubectl(t, "", append([]string{"imoocpod", "scale"}, harness.Words(args)...)...)
		if r.Code != harness.ExitError || r.Stdout != "" || !strings.Contains(r.Stderr, says) {
			t.Errorf("%s: exit code %d, printed %q, said %q, want %q", args, r.Code, r.Stdout, r.Stderr, says)
		}
	}
}

// Many clients change the same object at once and reorder the list that holds the
// counts. Each reported success changed the intended element, and no update is lost.
func TestNoUpdateIsLost(t *testing.T) {
	t.Parallel()
	installKinds(t)
	ns := cluster.NewNamespace(t)
	const searches = "searches.array.example.com"
	const n = 10
	var sets []string
	for i := range n {
		sets = append(sets, fmt.Sprintf("{name: set-%d, count: 1}", i))
	}
	cluster.CreateObject(t, ns, searches, "{apiVersion: array.example.com/v1, kind: Search, metadata: {name: it}, spec: {nodeSets: ["+strings.Join(sets, ", ")+"]}}")
	results := make([]harness.Result, n)
	var running, moving sync.WaitGroup
	done := make(chan struct{})
	moves := 0
	moving.Go(func() {
		patch := []byte(`[{"op": "move", "from": "/spec/nodeSets/0", "path": "/spec/nodeSets/-"}]`)
		for {
			_, err := cluster.Dynamic.Resource(harness.Resource(searches)).Namespace(ns).Patch(t.Context(), "it", types.JSONPatchType, patch, metav1.PatchOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			moves++
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for i := range n {
		running.Go(func() {
			results[i] = cluster.Kubectl(t, ns, "imoocpod", "scale", "search/it", "--replicas", fmt.Sprint(i+2), "--replicas-path", fmt.Sprintf(".spec.nodeSets[?(@.name==%q)].count", fmt.Sprintf("set-%d", i)))
		})
	}
	running.Wait()
	close(done)
	moving.Wait()
	want := map[any]any{}
	for i, r := range results {
		want[fmt.Sprintf("set-%d", i)] = int64(1)
		switch r.Code {
		case 0:
			want[fmt.Sprintf("set-%d", i)] = int64(i + 2)
		case harness.ExitPrecondition: // the command lost every race and reports that
		default:
			t.Errorf("%s: exit code %d, said %q", r.Line, r.Code, r.Stderr)
		}
	}
	list, _, err := unstructured.NestedSlice(cluster.Object(t, ns, searches, "it").Object, "spec", "nodeSets")
	if err != nil {
		t.Fatal(err)
	}
	got := map[any]any{}
	for _, set := range list {
		got[below(set, "name")] = below(set, "count")
	}
	if !maps.Equal(got, want) {
		t.Errorf("after %d moves the counts are %v, want %v", moves, got, want)
	}
}
