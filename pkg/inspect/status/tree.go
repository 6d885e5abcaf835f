package status

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// Node is an object in the tree of a report: the object itself at the root,
// what stands between, and the pods, which are told of in Report.Pods.
type Node struct {
	Kind string    `json:"kind"`
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
	// Desired and Ready are counts of pods, of what has them.
	Desired *int32 `json:"desired,omitempty"`
	Ready   *int32 `json:"ready,omitempty"`
	// Children are in the order of their kinds and names, pods last.
	Children []Node `json:"children,omitempty"`
}

// tree puts what belongs to the object below it, pods in their order. What has no pods
// and wants none, such as an old ReplicaSet, is left out.
func (f family) tree(o Object, between []Child, pods Pods) Node {
	root := Node{Kind: o.Kind, Name: o.Name, UID: o.UID, Desired: &o.Desired, Ready: &o.Ready}
	leaves := map[types.UID][]Node{}
	for _, pod := range pods {
		leaves[pod.owner] = append(leaves[pod.owner], Node{Kind: "Pod", Name: pod.model.Name, UID: pod.model.UID})
	}
	root.Children = f.nodes(o.UID, between, leaves, 0)
	return root
}

func (f family) nodes(uid types.UID, between []Child, pods map[types.UID][]Node, depth int) []Node {
	var all []Node
	for _, c := range between {
		if c.Controller != uid || depth > deepest {
			continue
		}
		n := Node{Kind: c.Kind, Name: c.Name, UID: c.UID, Desired: c.Desired, Ready: c.Ready}
		n.Children = f.nodes(c.UID, between, pods, depth+1)
		if len(n.Children) > 0 || c.Desired == nil || *c.Desired > 0 {
			all = append(all, n)
		}
	}
	slices.SortFunc(all, func(a, b Node) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), problem.CompareNames(a.Name, b.Name)) })
	if all == nil {
		return pods[uid] // which are many
	}
	return append(all, pods[uid]...)
}
