package plan

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// node returns a node for a text such as "a", "a zone=x" (a label), or "a !gpu:NoSchedule" (a taint).
func node(words string) *corev1.Node {
	fields := strings.Fields(words)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fields[0], Labels: map[string]string{}}}
	for _, word := range fields[1:] {
		if taint, is := strings.CutPrefix(word, "!"); is {
			key, effect, _ := strings.Cut(taint, ":")
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffect(effect)})
			continue
		}
		key, value, _ := strings.Cut(word, "=")
		n.Labels[key] = value
	}
	return n
}

// From any state of nodes and pods, plans converge to one pod on each eligible node. They never create a
// second pod for a node.
func TestPlansForNodesConverge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b", "c", "d", "e"}
		taints := []string{"", " !gpu:NoSchedule", " !gpu:NoExecute", " !node.kubernetes.io/unschedulable:NoSchedule"}
		v := view(0, "")
		draw := func() {
			v.Nodes = nil
			for _, name := range names {
				if rapid.Bool().Draw(t, name) {
					v.Nodes = append(v.Nodes, node(name+rapid.SampledFrom(taints).Draw(t, "taint")))
				}
			}
			v.Owner.TemplateHash = rapid.SampledFrom([]string{"x", "y"}).Draw(t, "template")
		}
		step := func() {
			a := Nodes(v)
			v.Memory = a.Memory
			for _, operation := range operations(a, Delete) {
				v.Pods = slices.DeleteFunc(v.Pods, func(p Pod) bool { return p.UID == operation.UID && p.Finished })
				for i := range v.Pods {
					if v.Pods[i].UID == operation.UID {
						v.Pods[i].Terminating, v.Pods[i].Ready = true, false
					}
				}
			}
			for _, o := range operations(a, Create) {
				if slices.ContainsFunc(v.Pods, func(p Pod) bool { return p.Slot == o.Slot }) {
					t.Fatalf("created a second pod for node %s", o.Node)
				}
				v.Pods = append(v.Pods, Pod{
					Name: o.Name, UID: types.UID(rapid.StringMatching(`[a-z]{12}`).Draw(t, "uid")),
					Slot: o.Slot, Template: v.Owner.TemplateHash, Label: v.Owner.UID,
				})
			}
		}
		settle := func() {
			v.Pods = slices.DeleteFunc(v.Pods, func(p Pod) bool { return p.Terminating })
			for i := range v.Pods {
				v.Pods[i].Ready = !v.Pods[i].Finished
			}
			v.Now = v.Now.Add(maxFailureDelay)
		}
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"nodes", "fail", "settle", "plan"}).Draw(t, "step") {
			case "nodes":
				draw()
			case "fail":
				if len(v.Pods) > 0 {
					v.Pods[0].Finished, v.Pods[0].Ready = true, false
				}
			case "settle":
				settle()
			case "plan":
				step()
			}
		}
		for range 4 * (len(names) + 1) {
			step()
			settle()
		}
		if a := Nodes(v); a.Writes() {
			t.Fatalf("no convergence: still planned %q", deeds(a))
		}
		wanted := perNode(View{Nodes: v.Nodes})
		for _, n := range v.Nodes {
			slot := slots.OfNode(n.Name)
			at := slices.IndexFunc(v.Pods, func(p Pod) bool { return p.Slot == slot })
			should := wanted.wants(slot)
			may := should || wanted.kept[slot]
			if (should && (at < 0 || v.outdated(v.Pods[at]))) || (!may && at >= 0) {
				t.Fatalf("node %s: must run a pod: %v, may keep one: %v; its pod has index %d (-1 means none) in %+v", n.Name, should, may, at, v.Pods)
			}
		}
	})
}
