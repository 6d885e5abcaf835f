package status

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// The tree contains the objects between the object and its pods, except objects that desire no pods
// and have none. A pod that leads a group appears once, with the group as its children. The tree is
// finite even if owner references form a cycle.
func TestTree(t *testing.T) {
	t.Parallel()
	set := func(kind, name string, controller types.UID, wanted *int32) Child {
		return Child{Kind: kind, Name: name, UID: types.UID(name), Controller: controller, Desired: wanted, Ready: new(int32(1))}
	}
	pod := func(name string, owner types.UID) *problem.Pod {
		return &problem.Pod{Name: name, UID: types.UID(name), Owner: owner}
	}
	none, two := new(int32(0)), new(int32(2))
	for name, test := range map[string]struct {
		children []Child
		pods     []*problem.Pod
		want     []string
	}{
		"old ReplicaSets": {
			[]Child{set("Deployment", "web", "it", two), set("ReplicaSet", "web-2", "web", two), set("ReplicaSet", "web-1", "web", none), set("ReplicaSet", "alien", "other", two)},
			[]*problem.Pod{pod("web-2-a", "web-2"), pod("web-2-b", "web-2"), pod("own", "it")},
			[]string{"Shop/it 1/2", " Deployment/web 1/2", "  ReplicaSet/web-2 1/2", "   Pod/web-2-a", "   Pod/web-2-b", " Pod/own"},
		},
		"a pod that leads a group": {
			[]Child{set("StatefulSet", "set", "leader", two), set("Pod", "leader", "it", nil), set("Pod", "worker", "set", nil)},
			[]*problem.Pod{pod("leader", "it"), pod("worker", "set")},
			[]string{"Shop/it 1/2", " Pod/leader", "  StatefulSet/set 1/2", "   Pod/worker"},
		},
		"owner references form a cycle": {
			[]Child{set("StatefulSet", "ring", "it", two), set("ReplicaSet", "leaf", "ring", two)},
			[]*problem.Pod{pod("ring", "ring"), pod("last", "ring")},
			[]string{"Shop/it 1/2", " StatefulSet/ring 1/2", "  ReplicaSet/leaf 1/2", "  Pod/ring", "  Pod/last"},
		},
	} {
		var lines []string
		var walk func(n Node, indent string)
		walk = func(n Node, indent string) {
			line := indent + n.Kind + "/" + n.Name
			if n.Desired != nil {
				line += fmt.Sprintf(" %d/%d", *n.Ready, *n.Desired)
			}
			lines = append(lines, line)
			for _, child := range n.Children {
				walk(child, indent+" ")
			}
		}
		walk(tree(Object{Identity: Identity{UID: "it", Kind: "Shop", Name: "it"}, Counts: Counts{Desired: 2, Ready: 1}}, test.children, test.pods), "")
		if !slices.Equal(lines, test.want) {
			t.Errorf("%s: tree = %q, want %q", name, lines, test.want)
		}
	}
}
