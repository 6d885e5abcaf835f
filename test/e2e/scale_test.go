package e2e

import (
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Concurrent relative changes all take effect.
func TestConcurrentScaleBy(t *testing.T) {
	t.Parallel()
	installKinds(t)
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "10")
	const searches = "searches.array.example.com"
	cluster.CreateObject(t, ns, searches, "{apiVersion: array.example.com/v1, kind: Search, metadata: {name: it}, spec: {nodeSets: [{name: hot, count: 10}]}}")
	var running sync.WaitGroup
	for _, step := range []string{"+1", "+2", "-1", "+4"} {
		for _, args := range [][]string{{"scale", "foo"}, {"scale", "search/it", "--replicas-path", `.spec.nodeSets[?(@.name=="hot")].count`}} {
			running.Go(func() {
				if r := cluster.Kubectl(t, ns, append(append([]string{"imoocpod"}, args...), "--by", step)...); r.Code != 0 {
					t.Errorf("%s: exit code %d, said %q", r.Line, r.Code, r.Stderr)
				}
			})
		}
	}
	running.Wait()
	if got := *cluster.ImoocPod(t, ns, "foo").Spec.Replicas; got != 16 {
		t.Errorf("foo has %d replicas, want 16", got)
	}
	changed, _, _ := unstructured.NestedSlice(cluster.Object(t, ns, searches, "it").Object, "spec", "nodeSets")
	if got := fmt.Sprint(changed); got != "[map[count:16 name:hot]]" {
		t.Errorf("the node sets are %s, want a count of 16", got)
	}
}
