package problem

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
)

// Pods lists pods in the order of ComparePods.
type Pods []*Pod

// ComparePods orders pods by name and then by UID. This is the order of all outputs.
func ComparePods(a, b *Pod) int {
	return cmp.Or(CompareNames(a.Name, b.Name), strings.Compare(string(a.UID), string(b.UID)))
}

// NewPods returns the sorted models of pods, or nil if pods is nil.
func NewPods(pods []corev1.Pod) Pods {
	if pods == nil {
		return nil
	}
	all := make(Pods, len(pods))
	for i := range pods {
		all[i] = NewPod(&pods[i])
	}
	slices.SortFunc(all, ComparePods)
	return all
}

// Objects returns the API objects of the pods.
func (p Pods) Objects() []*corev1.Pod {
	all := make([]*corev1.Pod, len(p))
	for i, pod := range p {
		all[i] = pod.Object
	}
	return all
}

// DeletePods returns the command that deletes the first ten of the pods. A longer command would be
// truncated, and would lose the namespace and the cluster at its end.
func DeletePods(namespace string, pods []string) commandline.Command {
	return commandline.Kubectl("delete", "pod").WithSome(pods).In(namespace)
}
