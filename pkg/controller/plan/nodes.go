package plan

import (
	"maps"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/utils/ptr"

	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// Nodes returns the plan for an owner with a pod on each eligible node, like a DaemonSet. The scheduler binds the pods.
func Nodes(v View) Actions { return fill(v, perNode(v)) }

// perNode returns the slots of eligible nodes. It keeps existing pods on nodes whose taints only prevent new pods.
func perNode(v View) slotSet {
	// The template is nil if it is invalid. In this case, the pods are not touched.
	spec := ptr.Deref(v.Owner.Template, corev1.PodTemplateSpec{}).Spec
	affinity, tolerations := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: spec}), DaemonTolerations(spec)
	tolerates := func(node *corev1.Node, effect corev1.TaintEffect) bool {
		relevant := func(taint *corev1.Taint) bool { return taint.Effect == effect }
		_, found := scheduling.FindMatchingUntoleratedTaint(logr.Discard(), node.Spec.Taints, tolerations, relevant, true)
		return !found
	}
	nodes := make(map[slots.Slot]string, len(v.Nodes))
	kept := map[slots.Slot]bool{}
	for _, node := range v.Nodes {
		fits, _ := affinity.Match(node) // an invalid selector matches nothing
		switch slot := slots.OfNode(node.Name); {
		case !fits, spec.NodeName != "" && spec.NodeName != node.Name, !tolerates(node, corev1.TaintEffectNoExecute):
		case tolerates(node, corev1.TaintEffectNoSchedule):
			nodes[slot] = node.Name
		default:
			kept[slot] = true
		}
	}
	return slotSet{
		count: int32(len(nodes)), //nolint:gosec // a cluster has fewer nodes
		wants: func(s slots.Slot) bool { _, wanted := nodes[s]; return wanted },
		kept:  kept,
		all:   slices.Values(slices.Sorted(maps.Keys(nodes))),
		nodes: nodes,
	}
}

// DaemonTolerations returns the template's tolerations, and the tolerations that the DaemonSet controller adds.
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
