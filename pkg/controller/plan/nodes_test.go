package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// node returns a node for a text such as "a", "a zone=x" (a label), or "a !gpu:NoSchedule" (a
// taint).
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

// nodesView returns a view with nodes and pods. The text "a" means a ready pod on node a, and "a:n"
// means a pod that is not ready. The functions pods and rolling explain the letters.
func nodesView(template corev1.PodSpec, nodes, pods string) View {
	v := View{Owner: Owner{Name: "foo", UID: uid, Generation: 1, Template: &corev1.PodTemplateSpec{Spec: template}, TemplateHash: "new"}, Now: noon}
	for words := range strings.SplitSeq(nodes, ",") {
		v.Nodes = append(v.Nodes, node(words))
	}
	for i, word := range strings.Fields(pods) {
		name, flags, _ := strings.Cut(word, ":")
		p := Pod{UID: types.UID(fmt.Sprint(i)), Slot: slots.OfNode(name), Template: "new"}
		p.Name = slots.PodName("foo", uid, "", p.Slot)
		p.Terminating, p.Finished = strings.Contains(flags, "t"), strings.Contains(flags, "f")
		p.Ready = !strings.ContainsAny(flags, "ntf")
		if strings.Contains(flags, "o") {
			p.Template = "old"
		}
		v.Pods = append(v.Pods, p)
	}
	return v
}

// nodeDeeds describes a plan in words, with node names instead of slots.
func nodeDeeds(p Actions) string {
	name := func(s slots.Slot) string {
		for _, n := range []string{"a", "b", "c", "d", "e", "gone"} {
			if slots.OfNode(n) == s {
				return n
			}
		}
		return s.String()
	}
	var words []string
	for _, c := range operations(p, Create) {
		words = append(words, "+"+name(c.Slot))
		if c.Node != name(c.Slot) {
			words = append(words, "for "+c.Node)
		}
	}
	for _, d := range operations(p, Delete) {
		words = append(words, fmt.Sprintf("-%s:%s", name(d.Slot), d.Reason))
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

func TestNodes(t *testing.T) {
	plain := corev1.PodSpec{}
	gpu := corev1.PodSpec{Tolerations: []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}}
	zone := corev1.PodSpec{NodeSelector: map[string]string{"zone": "x"}}
	affine := corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"x"}}},
		}}},
	}}}
	for _, test := range []struct {
		name             string
		template         corev1.PodSpec
		nodes, pods      string
		want             string
		desired, current int32
	}{
		{"a pod on each", plain, "a,b,c", "", "+a +b +c", 3, 0},
		{"all there", plain, "a,b", "a b", "", 2, 2},
		{"a node came", plain, "a,b", "a", "+b", 2, 1},
		{"a node went", plain, "a", "a gone", "-gone:surplus", 1, 1},
		{"a node went and another came", plain, "a,b", "a gone", "+b -gone:surplus", 2, 1},
		{"a pod that is ending keeps its node's slot", plain, "a,b", "a b:t", "", 2, 1},
		{"and no other's, also where its node is dead", plain, "a,b,c", "gone:t b:t", "+a +c", 3, 0},
		{"tainted from the start", plain, "a,b !gpu:NoSchedule", "", "+a", 1, 0},
		{"tainted afterwards: it may stay, uncounted", plain, "a,b !gpu:NoSchedule", "a b", "", 1, 1},
		{"nor is it replaced there", plain, "a,b !gpu:NoSchedule", "a b:o", "", 1, 1},
		{"tainted so that nothing may stay", plain, "a,b !gpu:NoExecute", "a b", "-b:surplus", 1, 1},
		{"preferred elsewhere", plain, "a !gpu:PreferNoSchedule", "", "+a", 1, 0},
		{"tolerated", gpu, "a !gpu:NoSchedule,b !gpu:NoExecute,c !other:NoSchedule", "", "+a +b", 2, 0},
		{"cordoned", plain, "a !node.kubernetes.io/unschedulable:NoSchedule", "", "+a", 1, 0},
		{"under pressure", plain, "a !node.kubernetes.io/memory-pressure:NoSchedule,b !node.kubernetes.io/disk-pressure:NoSchedule,c !node.kubernetes.io/pid-pressure:NoSchedule", "", "+a +b +c", 3, 0},
		{"not answering", plain, "a !node.kubernetes.io/unreachable:NoExecute,b !node.kubernetes.io/not-ready:NoExecute", "a", "+b", 2, 1},
		{"without a network", plain, "a !node.kubernetes.io/network-unavailable:NoSchedule", "", "", 0, 0},
		{"which matters not to its host's", corev1.PodSpec{HostNetwork: true}, "a !node.kubernetes.io/network-unavailable:NoSchedule", "", "+a", 1, 0},
		{"selected", zone, "a zone=x,b zone=y,c", "", "+a", 1, 0},
		{"no longer selected", zone, "a zone=x,b zone=y", "a b", "-b:surplus", 1, 1},
		{"by affinity", affine, "a zone=x,b zone=y,c", "", "+b +c", 2, 0},
		{"by name", corev1.PodSpec{NodeName: "b"}, "a,b", "", "+b", 1, 0},
		{"no nodes", plain, "b !gpu:NoSchedule", "", "", 0, 0},
		{"ended", plain, "a,b", "a:f b:of", "-b:finished", 2, 0},
		{"rolling, one of a few", plain, "a,b,c", "a:o b:o c:o", "", 3, 3},
		{"rolling, what is broken at once", plain, "a,b", "a:on b:on", "-a:outdated -b:outdated", 2, 2},
		{"rolling, one is missing already", plain, "a,b,c", "a:o b:o c:n", "", 3, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := nodesView(test.template, test.nodes, test.pods)
			p := Nodes(v)
			got := nodeDeeds(p)
			if test.name == "rolling, one of a few" {
				if len(p.Operations) != 1 || p.Operations[0].Reason != Outdated {
					t.Errorf("planned %q, want one pod to be replaced", got)
				}
				return
			}
			if got != test.want {
				t.Errorf("planned %q, want %q", got, test.want)
			}
			if p.Status.Desired != test.desired || p.Status.Current != test.current {
				t.Errorf("%d of %d pods, want %d of %d", p.Status.Current, p.Status.Desired, test.current, test.desired)
			}
			if p.Recheck > maxFailureDelay {
				t.Errorf("looks again in %v", p.Recheck)
			}
		})
	}
}

// Nodes does not recheck terminating pods, because it does not replace stuck pods.
func TestEndingPodOfANodeIsNotRechecked(t *testing.T) {
	if p := Nodes(nodesView(corev1.PodSpec{}, "a,b", "a b:t")); p.Recheck != 0 {
		t.Errorf("looks again after %v", p.Recheck)
	}
}

// If the template is invalid, existing pods stay.
func TestNodesWithoutATemplate(t *testing.T) {
	v := nodesView(corev1.PodSpec{}, "a,b", "a:o")
	v.Owner.Template, v.Owner.TemplateHash, v.Owner.Problem = nil, "", "no image"
	if p := Nodes(v); p.Writes() || p.Status.Desired != 2 {
		t.Errorf("planned %q for %d nodes", nodeDeeds(p), p.Status.Desired)
	}
}

// From any state of nodes and pods, plans converge to one pod on each eligible node. They never create a
// second pod for a node.
func TestPlansForNodesConverge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b", "c", "d", "e"}
		taints := []string{"", " !gpu:NoSchedule", " !gpu:NoExecute", " !node.kubernetes.io/unschedulable:NoSchedule"}
		v := nodesView(corev1.PodSpec{}, "a", "")
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
			p := Nodes(v)
			v.Memory = p.Memory
			for _, d := range operations(p, Delete) {
				v.Pods = slices.DeleteFunc(v.Pods, func(p Pod) bool { return p.UID == d.UID && p.Finished })
				for i := range v.Pods {
					if v.Pods[i].UID == d.UID {
						v.Pods[i].Terminating, v.Pods[i].Ready = true, false
					}
				}
			}
			for _, c := range operations(p, Create) {
				if slices.ContainsFunc(v.Pods, func(p Pod) bool { return p.Slot == c.Slot }) {
					t.Fatalf("a second pod for %s", c.Node)
				}
				v.Pods = append(v.Pods, Pod{
					Name: c.Name, UID: types.UID(rapid.StringMatching(`[a-z]{12}`).Draw(t, "uid")),
					Slot: c.Slot, Template: v.Owner.TemplateHash,
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
		if p := Nodes(v); p.Writes() {
			t.Fatalf("still wants %q", nodeDeeds(p))
		}
		for _, n := range v.Nodes {
			at := slices.IndexFunc(v.Pods, func(p Pod) bool { return p.Slot == slots.OfNode(n.Name) })
			should, may := demandOf(corev1.PodSpec{}).runs(n)
			if (should && (at < 0 || v.outdated(v.Pods[at]))) || (!may && at >= 0) {
				t.Fatalf("node %s: should run one %v, may %v; pod %d of %+v", n.Name, should, may, at, v.Pods)
			}
		}
	})
}
