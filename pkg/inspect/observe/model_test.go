package observe

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

func TestPodIsItsOwnTree(t *testing.T) {
	t.Parallel()
	target := Target{Kind: kindOf("v1", "Pod"), Namespace: "ns", Name: "web-1-0"}
	s := serveWeb(t, 2)
	snapshot, _, err := Read(t.Context(), s.clients(), target, Extent{Depth: Below})
	if err != nil || len(snapshot.Pods) != 1 || snapshot.Pods[0].Name != "web-1-0" || s.count("list pods") != 0 {
		t.Errorf("%d pods, error %v, after requests %v, want 1 pod without a list of pods", len(snapshot.Pods), err, s.sent())
	}
	target.Object = set(t, podOf(t, "web-1", 0, true), "odd", "spec", "containers")
	if _, _, err := Read(t.Context(), s.clients(), target, Extent{Depth: Below}); err == nil {
		t.Error("a pod whose containers are a string is read without an error")
	}
}

// A pod belongs to an object if a chain of controller references connects them. A pod without a
// controller belongs to the object if the chain existed in an earlier observation.
func TestPodsBelow(t *testing.T) {
	t.Parallel()
	sets, pods := map[types.UID][]status.Child{}, map[types.UID][]*problem.Pod{}
	for set, owner := range map[types.UID]types.UID{
		"a": "it", "b": "a", "c": "b", "d": "c", "e": "d", "f": "e", "g": "f", "h": "g", "too deep": "h",
		"alien set": "alien", "self": "self", "ring": "other ring", "other ring": "ring", "it": "a", "": "it",
	} {
		sets[owner] = append(sets[owner], status.Child{UID: set, Controller: owner})
	}
	for _, owner := range []types.UID{"it", "b", "h", "too deep", "alien", "alien set", "self", "ring"} {
		pods[owner] = []*problem.Pod{{UID: "of " + owner, Owner: owner}}
	}
	pods[""] = []*problem.Pod{{UID: "lost"}, {UID: "nobody's"}}
	m := &model{facts: status.Object{Identity: status.Identity{UID: "it"}}, history: history{pods: map[types.UID]bool{"lost": true}}}
	children := childrenBelow("it", []follow.Index[status.Child]{{Of: sets}})
	if len(children) != 8 {
		t.Errorf("children = %+v, want 8", children)
	}
	var all []types.UID
	for _, pod := range m.ownPods(follow.Index[*problem.Pod]{Of: pods}, children) {
		all = append(all, pod.UID)
	}
	if want := []types.UID{"lost", "of b", "of h", "of it"}; !slices.Equal(all, want) {
		t.Errorf("pods = %q, want %q", all, want)
	}
	if m.ownPods(follow.Index[*problem.Pod]{}, nil) == nil {
		t.Error("pods of an object without pods = nil, which means that they were not read")
	}
}

// Pods in a snapshot lack large fields that reports ignore.
func TestPodsAreTrimmed(t *testing.T) {
	t.Parallel()
	s := serveWeb(t, 2)
	pod := podOf(t, "web-1", 1, true)
	pod.SetAnnotations(map[string]string{apis.AnnotationDefaultContainer: "main"})
	s.put(pod)
	snapshot, _, err := Read(t.Context(), s.clients(), web(), Extent{Depth: Below})
	if err != nil || len(snapshot.Pods) != 2 {
		t.Fatalf("%d pods, error %v, want 2 pods", len(snapshot.Pods), err)
	}
	if got := snapshot.Pods[1].Object; len(got.ManagedFields) > 0 || got.Annotations[apis.AnnotationDefaultContainer] != "main" {
		t.Errorf("the pod is kept as %v, want its annotation and no managed fields", got)
	}
}

func owned(t testing.TB, obj *unstructured.Unstructured, apiVersion, kind, name string) *unstructured.Unstructured {
	t.Helper()
	owner := map[string]any{"apiVersion": apiVersion, "kind": kind, "name": name, "uid": name, "controller": true}
	return set(t, obj, []any{owner}, "metadata", "ownerReferences")
}

// The objects between an object and its pods are found by the controller references of the pods, level by level. For a
// custom resource of another program, or if there are no pods, the kinds that create pods are searched, too.
func TestReadIntermediate(t *testing.T) {
	t.Parallel()
	cell := parse(t, "{apiVersion: example.com/v1, kind: Cell, metadata: {name: cell, namespace: ns, uid: cell, generation: 1}, spec: {readers: {replicas: 1}}}")
	plain := parse(t, "{apiVersion: example.com/v1, kind: Set, metadata: {name: plain, namespace: ns, uid: plain}}")
	workload := func(kind, name string) *unstructured.Unstructured {
		return parse(t, "{apiVersion: apps/v1, kind: "+kind+", metadata: {name: "+name+", namespace: ns, uid: "+name+"}, spec: {replicas: 1}}")
	}
	ofCell := func(obj *unstructured.Unstructured) *unstructured.Unstructured {
		return owned(t, obj, "example.com/v1", "Cell", "cell")
	}
	theCell := Target{Kind: kindOf("example.com/v1", "Cell"), Namespace: "ns", Name: "cell"}
	makers := []string{"list daemonsets", "list deployments", "list pods", "list replicasets", "list statefulsets"}
	for _, test := range []struct {
		what    string
		target  Target
		put     []*unstructured.Unstructured
		failing string
		want    string
		lists   []string
	}{
		{"a Deployment with pods", web(), []*unstructured.Unstructured{
			deployment(t, 1, 1), replicaSet(t, "web-1", 1, 1), podOf(t, "web-1", 0, true),
		}, "", "web-1", []string{"list pods", "list replicasets"}},
		{"a Deployment without pods", web(), []*unstructured.Unstructured{
			deployment(t, 1, 0), replicaSet(t, "web-1", 1, 0),
		}, "", "web-1", []string{"list daemonsets", "list pods", "list replicasets", "list statefulsets"}},
		{"a custom resource above another one and a Deployment", theCell, []*unstructured.Unstructured{
			cell, ofCell(plain), owned(t, deployment(t, 1, 1), "example.com/v1", "Set", "plain"), replicaSet(t, "web-1", 1, 1), podOf(t, "web-1", 0, true),
		}, "", "plain web web-1", []string{"list daemonsets", "list deployments", "list pods", "list replicasets", "list sets", "list statefulsets"}},
		{"a custom resource with a child that has no pods", theCell, []*unstructured.Unstructured{
			cell, ofCell(workload("ReplicaSet", "own")), ofCell(workload("StatefulSet", "idle")), workload("StatefulSet", "stray"),
			owned(t, podOf(t, "own", 0, true), "apps/v1", "ReplicaSet", "own"),
		}, "", "idle own", makers},
		{"a type that cannot be listed is left out", theCell, []*unstructured.Unstructured{
			cell, ofCell(workload("ReplicaSet", "own")), ofCell(workload("StatefulSet", "idle")),
		}, "list replicasets", "idle", makers},
		{"a type that is not served is left out", web(), []*unstructured.Unstructured{
			deployment(t, 1, 1), replicaSet(t, "web-1", 1, 1), podOf(t, "web-1", 0, true),
			owned(t, podOf(t, "other", 0, true), "gone.example.com/v1", "Thing", "other"),
		}, "", "web-1", []string{"list pods", "list replicasets"}},
	} {
		s := newServer(t)
		s.fail(test.failing)
		for _, obj := range test.put {
			s.put(obj)
		}
		snapshot, _, err := Read(t.Context(), s.clients(), test.target, Extent{Depth: Below})
		var names []string
		for _, child := range snapshot.Children {
			names = append(names, child.Name)
		}
		slices.Sort(names)
		lists := slices.DeleteFunc(s.sent(), func(request string) bool { return !strings.HasPrefix(request, "list ") })
		if got := strings.Join(names, " "); err != nil || got != test.want || !slices.Equal(lists, test.lists) {
			t.Errorf("%s: children %q after requests %v, error %v, want %q after %v", test.what, got, lists, err, test.want, test.lists)
		}
	}
}

// A pod can own objects that create pods. For example, the workers of a leader belong to a StatefulSet that the
// leader owns. Both a read and a wait include the events of the StatefulSet.
func TestObjectsBelowAPod(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.put(parse(t, "{apiVersion: example.com/v1, kind: Cell, metadata: {name: cell, namespace: ns, uid: cell, generation: 1}, spec: {readers: {replicas: 2}}}"))
		s.put(owned(t, podOf(t, "leader", 0, true), "example.com/v1", "Cell", "cell"))
		workers := parse(t, "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: workers, namespace: ns, uid: workers}, spec: {replicas: 1}}")
		s.put(owned(t, workers, "v1", "Pod", "leader-0"))
		s.put(event(t, "quota", "StatefulSet", "workers", "FailedCreate", "the quota is full"))
		target := Target{Kind: kindOf("example.com/v1", "Cell"), Namespace: "ns", Name: "cell"}
		snapshot, _, err := Read(t.Context(), s.clients(), target, Extent{Depth: Reasons})
		if err != nil || len(snapshot.Events) != 1 || snapshot.Events[0].Message != "the quota is full" {
			t.Errorf("events of a read = %+v, error %v, want that of the StatefulSet", snapshot.Events, err)
		}
		var seen status.Report
		s.waitFor(t, &Waiter{Limits: limits(time.Minute, 0), Show: func(o Observation) { seen = o.Report }}, target, Ready())
		pass(time.Minute)
		if read := status.NewReport(snapshot); inFull(seen) != inFull(read) || len(seen.Events) != 1 {
			t.Errorf("a wait shows\n%s\nbut a read gives\n%s", inFull(seen), inFull(read))
		}
	})
}
