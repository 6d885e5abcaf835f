package status

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// hintImages adds to problems with an image the commands that give the pods another one,
// for an object in whose pod template the image is. It never leads to a template whose
// pods are not known to have been ready.
func hintImages(e Snapshot, pods problem.Pods, problems []problem.Problem) {
	o := e.Object
	if !o.SetsImage || o.Controller != nil {
		return
	}
	for i, p := range problems {
		if p.Hint == "" || len(p.Pods) == 0 || !slices.Contains([]problem.Code{problem.CodeImagePullFailed, problem.CodeInvalidImageName}, p.Code) {
			continue
		}
		failing := ""
		if at := slices.IndexFunc(pods, func(pod *problem.Pod) bool { return pod.Name == p.Pods[0] }); at >= 0 {
			failing = imageIn(pods[at].Object, p.Container)
		}
		if now := o.Images[p.Container]; now != "" && failing != "" && now != failing {
			if o.Kind == "StatefulSet" { // whose controller waits for the pod
				problems[i].Hint += "; the pod template already has another image; to replace the pods: " +
					e.Commands.Line(commandline.Kubectl(append([]string{"delete", "pod"}, p.Pods...)...).In(o.Namespace))
			}
			continue
		}
		set := commandline.Plugin("set", "image", o.argument(), p.Container+"=IMAGE").In(o.Namespace)
		problems[i].Hint += "; to set another image: " + e.Commands.Line(set)
		if failing != "" && slices.ContainsFunc(pods, func(pod *problem.Pod) bool { return pod.Ready && imageIn(pod.Object, p.Container) != failing }) {
			undo := commandline.Plugin("undo", o.argument()).In(o.Namespace)
			problems[i].Hint += "; to return to the last one: " + e.Commands.Line(undo)
		}
	}
}

// imageIn returns the image of a container of a pod, empty if it has no such container.
func imageIn(pod *corev1.Pod, container string) string {
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if c.Name == container {
			return c.Image
		}
	}
	return ""
}
