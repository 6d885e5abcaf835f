package status

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// hintImages adds a "set image" command to the hint of each image problem unless the pod template
// already has another image. It suggests an undo only if a pod with another image is ready.
func hintImages(s Snapshot, problems []problem.Problem) {
	o := s.Object
	if !o.SetsImage || o.Controller != nil {
		return
	}
	for i, p := range problems {
		if p.Hint == "" || len(p.Pods) == 0 || !slices.Contains([]problem.Code{problem.CodeImagePullFailed, problem.CodeInvalidImageName}, p.Code) {
			continue
		}
		failing := ""
		if at := slices.IndexFunc(s.Pods, func(pod *problem.Pod) bool { return pod.Name == p.Pods[0] }); at >= 0 {
			failing = imageIn(s.Pods[at].Object, p.Container)
		}
		if now := o.Images[p.Container]; now != "" && failing != "" && now != failing {
			if o.Kind == "StatefulSet" { // a StatefulSet does not replace a pod that never becomes ready
				problems[i].Hint += "; the pod template already has another image; to replace these pods: " +
					s.Commands.Line(commandline.Kubectl("delete", "pod").WithSome(p.Pods).In(o.Namespace))
			}
			continue
		}
		set := commandline.Plugin("set", "image", o.argument(), p.Container+"=IMAGE").In(o.Namespace)
		problems[i].Hint += "; to set another image: " + s.Commands.Line(set)
		if failing != "" && slices.ContainsFunc(s.Pods, func(pod *problem.Pod) bool { return pod.Ready && imageIn(pod.Object, p.Container) != failing }) {
			undo := commandline.Plugin("undo", o.argument()).In(o.Namespace)
			problems[i].Hint += "; to return to the last one: " + s.Commands.Line(undo)
		}
	}
}

func imageIn(pod *corev1.Pod, container string) string {
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if c.Name == container {
			return c.Image
		}
	}
	return ""
}
