package status

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// Child is an object that another object controls. It can control other objects, too.
type Child struct {
	APIVersion, Kind, Namespace, Name string
	UID                               types.UID
	// Controller is the UID of the object that controls the child.
	Controller types.UID
	Created    time.Time
	Managers   []metav1.ManagedFieldsEntry
	// Tracked is set if the controller of the child reports which generation it has observed.
	Tracked                        bool
	Generation, ObservedGeneration int64
	Conditions                     []metav1.Condition
	// Revision is the number of the pod template in a Deployment's ReplicaSet, or 0.
	Revision int64
	// The numbers of pods are nil if the child lacks them. UpdatedWanted is how many must be updated; nil means all.
	Desired, Current, Ready, Updated, Available, UpdatedWanted *int32
}

func workloads(children []Child) []Child {
	return slices.DeleteFunc(slices.Clone(children), func(c Child) bool { return c.Desired == nil })
}

// unsettled describes why a child is not ready, or returns "" if it is ready. The counts of the object cover a pod.
func (c Child) unsettled() string {
	name := c.Kind + "/" + c.Name
	if c.Tracked && c.ObservedGeneration < c.Generation {
		return fmt.Sprintf("%s: its controller has not seen the last change (generation %d, observed %d)", name, c.Generation, c.ObservedGeneration)
	}
	if not := meta.FindStatusCondition(c.Conditions, apis.ConditionReady); not != nil && not.Status == metav1.ConditionFalse && c.Kind != "Pod" {
		return fmt.Sprintf("%s: %s", name, problem.ConditionSays(*not))
	}
	if c.Desired == nil {
		return ""
	}
	ready := func(n int32, what string) string {
		return fmt.Sprintf("%s: %d of %d pods %s", name, n, *c.Desired, what)
	}
	switch {
	case c.Updated != nil && *c.Updated < ptr.Deref(c.UpdatedWanted, *c.Desired):
		return ready(*c.Updated, "updated")
	case c.Ready != nil && *c.Ready < *c.Desired:
		return ready(*c.Ready, "ready")
	case c.Available != nil && *c.Available < *c.Desired:
		return ready(*c.Available, "available")
	case c.Current != nil && *c.Current > *c.Desired:
		return fmt.Sprintf("%s: %s, %d too many", name, problem.Quantity(*c.Current, "pod"), *c.Current-*c.Desired)
	}
	return ""
}

// Node is an object in the tree of a report: the object itself, an object that it owns, or a pod (see Report.Pods).
type Node struct {
	Kind string    `json:"kind"`
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
	// Desired and Ready are numbers of pods, or nil if the object has no counts.
	Desired *int32 `json:"desired,omitempty"`
	Ready   *int32 `json:"ready,omitempty"`
	// Children are ordered by kind and name, with the pods last.
	Children []Node `json:"children,omitempty"`
}

// tree returns the object's node. It omits a child that desires no pods and has none, such as an old ReplicaSet.
func tree(o Object, children []Child, pods []*problem.Pod) Node {
	leaves := map[types.UID][]Node{}
	for _, pod := range pods {
		leaves[pod.Owner] = append(leaves[pod.Owner], Node{Kind: "Pod", Name: pod.Name, UID: pod.UID})
	}
	below := map[types.UID][]Child{}
	for _, c := range children {
		below[c.Controller] = append(below[c.Controller], c)
	}
	return Node{Kind: o.Kind, Name: o.Name, UID: o.UID, Desired: &o.Desired, Ready: &o.Ready, Children: nodes(o.UID, below, leaves)}
}

// nodes returns an object's child nodes. It removes visited objects from the maps, because owners can form cycles.
func nodes(uid types.UID, below map[types.UID][]Child, pods map[types.UID][]Node) []Node {
	var all []Node
	leaves, children := pods[uid], below[uid]
	delete(pods, uid)
	delete(below, uid)
	own := map[types.UID]bool{}
	for i := range leaves {
		own[leaves[i].UID] = true
		if len(below[leaves[i].UID]) > 0 { // a pod that owns others, such as the leader of a group
			leaves[i].Children = nodes(leaves[i].UID, below, pods)
		}
	}
	for _, c := range slices.DeleteFunc(children, func(c Child) bool { return own[c.UID] }) {
		n := Node{Kind: c.Kind, Name: c.Name, UID: c.UID, Desired: c.Desired, Ready: c.Ready, Children: nodes(c.UID, below, pods)}
		if len(n.Children) > 0 || c.Desired == nil || *c.Desired > 0 {
			all = append(all, n)
		}
	}
	slices.SortFunc(all, func(a, b Node) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), problem.CompareNames(a.Name, b.Name)) })
	return append(all, leaves...)
}
