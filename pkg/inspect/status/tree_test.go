package status

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// The tree has the objects between the object and its pods, except those that want no pods and have
// none.
func TestTree(t *testing.T) {
	t.Parallel()
	pods := []corev1.Pod{ownedPod("web-2-b", "new"), ownedPod("web-2-a", "new"), ownedPod("own", "it")}
	for i := range pods {
		pods[i].UID = types.UID(pods[i].Name)
	}
	r := NewReport(Snapshot{
		Object: Object{Identity: Identity{UID: "it", Kind: "AppService", Name: "shop"}, Counts: Counts{Desired: 2, Ready: 1}},
		Children: []Child{
			{Kind: "Deployment", Name: "web", UID: "deployment", Controller: "it", Desired: new(int32(2)), Ready: new(int32(1))},
			{Kind: "ReplicaSet", Name: "web-2", UID: "new", Controller: "deployment", Desired: new(int32(2)), Ready: new(int32(1))},
			{Kind: "ReplicaSet", Name: "web-1", UID: "old", Controller: "deployment", Desired: new(int32(0)), Ready: new(int32(0))},
			{Kind: "ReplicaSet", Name: "alien", UID: "alien", Controller: "another", Desired: new(int32(2))},
		},
		Pods: problem.NewPods(pods),
		Now:  lookedAt(),
	})
	var lines []string
	var walk func(n Node, indent string)
	walk = func(n Node, indent string) {
		line := indent + n.Kind + "/" + n.Name
		if n.Desired != nil {
			line += " " + string('0'+*n.Ready) + "/" + string('0'+*n.Desired)
		}
		lines = append(lines, line)
		for _, child := range n.Children {
			walk(child, indent+" ")
		}
	}
	walk(r.Tree, "")
	if want := []string{"AppService/shop 1/2", " Deployment/web 1/2", "  ReplicaSet/web-2 1/2", "   Pod/web-2-a", "   Pod/web-2-b", " Pod/own"}; !slices.Equal(lines, want) {
		t.Errorf("the tree is %q, want %q", lines, want)
	}
}

// A pod that leads a group appears once in the tree, with the group below it.
func TestTreeBelowAPod(t *testing.T) {
	t.Parallel()
	pods := []corev1.Pod{ownedPod("leader", "it"), ownedPod("worker", "set")}
	e := Snapshot{Object: Object{Identity: Identity{UID: "it"}}, Children: []Child{{Kind: "StatefulSet", Name: "set", UID: "set", Controller: "leader", Desired: new(int32(1))}}}
	for i := range pods {
		pods[i].UID = types.UID(pods[i].Name)
		e.Children = append(e.Children, Child{Kind: "Pod", Name: pods[i].Name, UID: pods[i].UID, Controller: pods[i].OwnerReferences[0].UID})
	}
	e.Pods = problem.NewPods(pods)
	tree := NewReport(e).Tree
	if len(tree.Children) != 1 || tree.Children[0].Name != "leader" || len(tree.Children[0].Children) != 1 {
		t.Fatalf("the tree is %+v", tree)
	}
	if set := tree.Children[0].Children[0]; set.Name != "set" || len(set.Children) != 1 || set.Children[0].Name != "worker" {
		t.Errorf("below the leader is %+v", set)
	}
}

// Owner references between pods and children may form a ring. The tree is still finite.
func TestTreeOfARing(t *testing.T) {
	t.Parallel()
	children := []Child{{UID: "ring", Controller: "object", Kind: "StatefulSet", Name: "a"}, {UID: "leaf", Controller: "ring", Kind: "ReplicaSet", Name: "b"}}
	pods := problem.Pods{{UID: "ring", Owner: "ring", Name: "a-0"}, {UID: "other", Owner: "ring", Name: "a-1"}}
	if tree := tree(Object{Identity: Identity{UID: "object"}}, children, pods); len(tree.Children) != 1 {
		t.Errorf("the tree has %d children, want 1", len(tree.Children))
	}
}
