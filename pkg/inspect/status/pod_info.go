package status

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// PodInfo is a pod with everything that a report takes from the pod alone. It is computed
// once, so that one change among ten thousand pods costs little.
type PodInfo struct {
	// Pod is the pod, which must not change any more.
	Pod *corev1.Pod

	model problem.Pod
	// ownerKind is the kind of the controller; empty if there is none.
	ownerKind schema.GroupVersionKind
	// template is what the pod says that it was made from, and live that it has not
	// finished and was not told to go.
	template string
	live     bool
	// sound means that only events can show a problem of the pod. probed means that the pod
	// is ready and a probe may have ended one of its containers.
	sound, probed bool
}

// NewPodInfo works out what a report takes from a pod.
func NewPodInfo(pod *corev1.Pod) *PodInfo {
	p := &PodInfo{
		Pod: pod, model: problem.NewPod(pod), template: pod.Labels[apis.LabelTemplateHash],
		live: problem.Live(pod), sound: problem.Sound(pod),
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		p.model.Owner, p.ownerKind = owner.UID, schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
	}
	probed := func(c corev1.Container) bool { return c.LivenessProbe != nil }
	p.probed = p.model.Ready && (slices.ContainsFunc(pod.Spec.Containers, probed) || slices.ContainsFunc(pod.Spec.InitContainers, probed))
	return p
}

// Pods are pods in the order of ComparePods.
type Pods []*PodInfo

// ComparePods puts pods in the order of their names, as they are shown.
func ComparePods(a, b *corev1.Pod) int {
	return cmp.Or(problem.CompareNames(a.Name, b.Name), strings.Compare(string(a.UID), string(b.UID)))
}

// NewPods puts pods in order, and works out what a report takes from each; nil for nil.
func NewPods(pods []corev1.Pod) Pods {
	if pods == nil {
		return nil
	}
	all := make(Pods, len(pods))
	for i := range pods {
		all[i] = NewPodInfo(&pods[i])
	}
	slices.SortFunc(all, func(a, b *PodInfo) int { return ComparePods(a.Pod, b.Pod) })
	return all
}

// OwnerKinds are the kinds of the controllers of pods.
func (p Pods) OwnerKinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, pod := range p {
		if pod.model.Owner != "" && !slices.Contains(kinds, pod.ownerKind) {
			kinds = append(kinds, pod.ownerKind)
		}
	}
	return kinds
}

// Objects are the pods themselves.
func (p Pods) Objects() []*corev1.Pod {
	all := make([]*corev1.Pod, len(p))
	for i, pod := range p {
		all[i] = pod.Pod
	}
	return all
}
