package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/harness"
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

// scale lists the changes of several objects, and asks before it scales several to zero.
func TestScaleAsks(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "2")
	cluster.Imoocpod(t, ns, "create", "bar", "--replicas", "1")
	const both = "NAME           BEFORE   AFTER\nimoocpod/foo   2        0\nimoocpod/bar   1        0\n"
	args := []string{"scale", "imoocpod/foo", "imoocpod/bar", "--replicas", "0", "-n", ns}
	s := cluster.StartTerminal(t, 120, 40, nil, cluster.PluginDir+"/kubectl-imoocpod", args...)
	s.AwaitText("This scales 2 objects to zero. Do you want to continue? (y/N):")
	s.Press("no\r")
	if code := s.Wait(); code != 0 || *cluster.ImoocPod(t, ns, "foo").Spec.Replicas != 2 {
		t.Errorf("exit code %d", code)
	}
	// No confirmation for one object scaled to zero, for several scaled to more, and
	// with --yes.
	for _, args := range []string{"imoocpod/foo --replicas 0", "imoocpod/foo imoocpod/bar --replicas 2", "imoocpod/foo imoocpod/bar --replicas 0 --yes"} {
		s := cluster.StartTerminal(t, 120, 40, nil, cluster.PluginDir+"/kubectl-imoocpod", append([]string{"scale", "-n", ns}, harness.Words(args)...)...)
		if code := s.Wait(); code != 0 || strings.Contains(s.Written(), "continue") {
			t.Errorf("%s: exit code %d, wrote %q", args, code, s.Written())
		}
	}
	setReplicas(t, ns, "foo", "test", 2)
	setReplicas(t, ns, "bar", "test", 1)
	r := cluster.Kubectl(t, ns, append([]string{"imoocpod"}, args...)...)
	if harness.Must(t, r); !strings.HasPrefix(r.Stderr, both) || *cluster.ImoocPod(t, ns, "bar").Spec.Replicas != 0 {
		t.Errorf("without a terminal it said %q", r.Stderr)
	}
}

// setReplicas sets the count of an ImoocPod as another field manager.
func setReplicas(t *testing.T, ns, name, manager string, n int) {
	t.Helper()
	_, err := cluster.Dynamic.Resource(kinds.ImoocPod().Resource).Namespace(ns).Patch(t.Context(), name, types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n), metav1.PatchOptions{FieldManager: manager})
	if err != nil {
		t.Fatal(err)
	}
}
