package plan

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// Pods from the kind's previous strategy stay in any state, and do not block other pods. The object is
// not ready while they exist.
func TestPodsOfAnotherPlanStay(t *testing.T) {
	numbered, ofNodes := view(3, "0 1 2n 3t 4f"), nodesView(corev1.PodSpec{}, "a,b,c", "a b c:n d:t e:f")
	for name, test := range map[string]struct {
		plan      func(View) Actions
		v         View
		own       []Pod
		want      string
		remaining []Pod
		ready     int32
	}{
		"pods to nodes":                 {Nodes, ofNodes, nil, "+a +b +c", numbered.Pods, 0},
		"pods to nodes, with new":       {Nodes, ofNodes, nodesView(corev1.PodSpec{}, "a", "a b c").Pods, "", numbered.Pods, 3},
		"nodes to pods":                 {Pods, numbered, nil, "+0 +1 +2", ofNodes.Pods, 0},
		"nodes to pods, with new":       {Pods, numbered, pods("0 1 2"), "", ofNodes.Pods, 3},
		"nodes to pods, scaled down":    {Pods, numbered, pods("0 1 2 3"), "-3:surplus", ofNodes.Pods, 4},
		"pods to nodes, a node is gone": {Nodes, ofNodes, nodesView(corev1.PodSpec{}, "a", "a b c gone").Pods, "-gone:surplus", numbered.Pods, 3},
	} {
		t.Run(name, func(t *testing.T) {
			for _, list := range [][]Pod{slices.Concat(test.own, test.remaining), slices.Concat(test.remaining, test.own)} {
				test.v.Pods = list
				p := test.plan(test.v)
				got := deeds(p)
				if test.v.Nodes != nil {
					got = nodeDeeds(p)
				}
				if got != test.want {
					t.Errorf("planned %q, want %q", got, test.want)
				}
				if meta.IsStatusConditionTrue(p.Status.Conditions, apis.ConditionReady) {
					t.Error("the object is ready with pods that it does not want")
				}
				c := meta.FindStatusCondition(p.Status.Conditions, apis.ConditionProgressing)
				told := c.Reason == "PlanChanged" && c.Message == "the previous plan left 3 pods: delete them, or the object"
				if told != (test.want == "") {
					t.Errorf("the condition Progressing is %s: %s", c.Reason, c.Message)
				}
				if p.Status.Ready != test.ready {
					t.Errorf("%d pods count as ready, want %d", p.Status.Ready, test.ready)
				}
			}
		})
	}
}
