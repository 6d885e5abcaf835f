package problem

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
)

// Template is the pod template of an object, in which an image can be set.
type Template struct {
	// Kind is the kind of the object. Argument is the object as an argument of a command.
	Kind, Argument, Namespace string
	// Images maps containers to their images.
	Images map[string]string
}

// DeletePods returns the command that deletes the first ten of some pods. A long command would be
// cut, and would lose the namespace and the cluster at its end.
func DeletePods(namespace string, pods []string) commandline.Command {
	return commandline.Kubectl("delete", "pod").WithSome(pods).In(namespace)
}

// HintImages extends the hints of image problems with commands that set another image. It suggests
// an undo only if a pod with another image is ready.
func (t Template) HintImages(problems []Problem, pods Pods, commands commandline.Context) {
	for i, p := range problems {
		if p.Hint == "" || len(p.Pods) == 0 || !slices.Contains([]Code{CodeImagePullFailed, CodeInvalidImageName}, p.Code) {
			continue
		}
		failing := ""
		if at := slices.IndexFunc(pods, func(pod *Pod) bool { return pod.Name == p.Pods[0] }); at >= 0 {
			failing = imageIn(pods[at].Object, p.Container)
		}
		if now := t.Images[p.Container]; now != "" && failing != "" && now != failing {
			if t.Kind == "StatefulSet" { // whose controller waits for the pod
				problems[i].Hint += "; the pod template already has another image; to replace these pods: " +
					commands.Line(DeletePods(t.Namespace, p.Pods))
			}
			continue
		}
		set := commandline.Plugin("set", "image", t.Argument, p.Container+"=IMAGE").In(t.Namespace)
		problems[i].Hint += "; to set another image: " + commands.Line(set)
		if failing != "" && slices.ContainsFunc(pods, func(pod *Pod) bool { return pod.Ready && imageIn(pod.Object, p.Container) != failing }) {
			undo := commandline.Plugin("undo", t.Argument).In(t.Namespace)
			problems[i].Hint += "; to return to the last one: " + commands.Line(undo)
		}
	}
}

// imageIn returns the image of a container of a pod, or "" if the pod has no such container.
func imageIn(pod *corev1.Pod, container string) string {
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if c.Name == container {
			return c.Image
		}
	}
	return ""
}
