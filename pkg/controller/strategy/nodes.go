package strategy

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/utils/ptr"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// nodes returns the strategy that runs one pod on every eligible node.
func nodes() *Strategy {
	return &Strategy{
		Plan: plan.Nodes, PodIndex: ByOwner,
		Input: nodeSource, Read: readNodes,
		complete: func(o *plan.Owner, _ kinds.Kind, _ *unstructured.Unstructured, _ map[string]any) {
			o.Invalid = cmp.Or(o.Problem, badAffinity(o.Template)) // the template determines which nodes are eligible
		},
	}
}

// badAffinity returns the error in the required node affinity of a template, or "". With an invalid affinity, plans
// would find no eligible node. The server rejects it in a DaemonSet.
func badAffinity(template *corev1.PodTemplateSpec) string {
	affinity := ptr.Deref(ptr.Deref(template, corev1.PodTemplateSpec{}).Spec.Affinity, corev1.Affinity{})
	required := ptr.Deref(affinity.NodeAffinity, corev1.NodeAffinity{}).RequiredDuringSchedulingIgnoredDuringExecution
	if _, err := nodeaffinity.NewNodeSelector(cmp.Or(required, &corev1.NodeSelector{})); err != nil {
		return "the node affinity is invalid: " + err.Error()
	}
	return ""
}

func nodeSource(c Clients) informer.Source {
	s := informer.SourceOf("nodes", follow.SourceOf(c.Core.Nodes()), &corev1.Node{}, trimNode, nodesEqual)
	s.Singular = "node"
	return s
}

// trimNode returns the parts of a node that determine its pods.
func trimNode(node *corev1.Node) any {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion, Labels: node.Labels},
		Spec:       corev1.NodeSpec{Taints: node.Spec.Taints},
	}
}

// nodesEqual reports whether a node can run the same pods after an update. Most updates change only the status.
func nodesEqual(a, b *corev1.Node) bool {
	return equality.Semantic.DeepEqual(a.Labels, b.Labels) && equality.Semantic.DeepEqual(a.Spec, b.Spec)
}

func readNodes(v *plan.View, _ *unstructured.Unstructured, store cache.Indexer) {
	all := store.List()
	v.Nodes = make([]*corev1.Node, 0, len(all))
	for _, obj := range all {
		if node, ok := obj.(*corev1.Node); ok {
			v.Nodes = append(v.Nodes, node)
		}
	}
}

// forNode sets a pod's affinity and tolerations as the DaemonSet controller does, so that the pod runs only on the
// node. It replaces the required node affinity of the template, which the plan has already checked.
func forNode(pod *corev1.Pod, node string) {
	pod.Spec.Tolerations = plan.DaemonTolerations(pod.Spec)
	only := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
	}}}
	// Change copies, because all pods of the owner share these pointers.
	affinity := ptr.Deref(pod.Spec.Affinity, corev1.Affinity{})
	nodeAffinity := ptr.Deref(affinity.NodeAffinity, corev1.NodeAffinity{})
	nodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = only
	affinity.NodeAffinity = &nodeAffinity
	pod.Spec.Affinity = &affinity
}
