package plan

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// Nodes plans an owner that has one pod on every node that may run it. Which
// these are is decided as a DaemonSet does it; the scheduler puts the pod there.
//
//   - A node that may run the pod and has none gets one.
//   - A pod of a node that is gone, or may not run it any more, goes.
//   - A pod of a node with a new taint NoSchedule stays, and is not replaced.
//   - Pods of numbered slots are from when the kind had the other plan, and stay.
//   - The pods of another template are replaced as those of replicas are.
func Nodes(v View) Actions { return fill(v, perNode(v)) }

// perNode are the slots of the nodes that may run the owner's pods.
func perNode(v View) slotSet {
	template := v.Owner.Template
	if template == nil {
		template = &corev1.PodTemplateSpec{} // none can be made, but those there are stay
	}
	demand := demandOf(template.Spec)
	nodes := make(map[slots.Slot]string, len(v.Nodes))
	kept := map[slots.Slot]bool{}
	for _, node := range v.Nodes {
		switch should, may := demand.runs(node); {
		case should:
			nodes[slots.OfNode(node.Name)] = node.Name
		case may:
			kept[slots.OfNode(node.Name)] = true
		}
	}
	return slotSet{
		count: int32(len(nodes)), //nolint:gosec // a cluster has fewer nodes
		wants: func(s slots.Slot) bool { _, wanted := nodes[s]; return wanted },
		keeps: func(s slots.Slot) bool { return kept[s] },
		all:   slices.Values(slices.Sorted(maps.Keys(nodes))),
		nodes: nodes,
	}
}

// demand is what a pod that belongs to its node demands of that.
type demand struct {
	nodeName    string
	affinity    nodeaffinity.RequiredNodeAffinity
	tolerations []corev1.Toleration
}

func demandOf(spec corev1.PodSpec) demand {
	return demand{spec.NodeName, nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: spec}), DaemonTolerations(spec)}
}

// runs reports whether a node should have a pod, and whether it may keep one.
func (d demand) runs(node *corev1.Node) (should, may bool) {
	if d.nodeName != "" && d.nodeName != node.Name {
		return false, false
	}
	// A selector that cannot be read matches nothing.
	fits, _ := d.affinity.Match(node)
	if !fits {
		return false, false
	}
	tolerates := func(effects ...corev1.TaintEffect) bool {
		return !slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
			return slices.Contains(effects, taint.Effect) && !tolerated(taint, d.tolerations)
		})
	}
	return tolerates(corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute), tolerates(corev1.TaintEffectNoExecute)
}

func tolerated(taint corev1.Taint, tolerations []corev1.Toleration) bool {
	return slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool {
		return (t.Effect == "" || t.Effect == taint.Effect) && (t.Key == "" || t.Key == taint.Key) &&
			(t.Operator == corev1.TolerationOpExists || t.Value == taint.Value)
	})
}

// DaemonTolerations are the tolerations of a pod that belongs to its node: those
// of its template, and of what makes a node unfit for other pods only. They are
// the same as a DaemonSet's.
func DaemonTolerations(spec corev1.PodSpec) []corev1.Toleration {
	tolerations := slices.Clone(spec.Tolerations)
	add := func(key string, effect corev1.TaintEffect) {
		t := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect}
		if !slices.Contains(tolerations, t) {
			tolerations = append(tolerations, t)
		}
	}
	add(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute)
	add(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute)
	add(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule)
	add(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule)
	add(corev1.TaintNodePIDPressure, corev1.TaintEffectNoSchedule)
	add(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule)
	if spec.HostNetwork {
		add(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule)
	}
	return tolerations
}
