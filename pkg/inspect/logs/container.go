package logs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// Wanted selects the containers whose logs are read.
type Wanted struct {
	// Container, if set, selects one container of each pod. AllContainers selects all containers. The default is
	// kubectl's default container and, if the pod is not ready, also its broken containers.
	Container     string
	AllContainers bool
	// Slot, if set, selects pods by the number or word at the end of their names.
	Slot string
	// Failing excludes ready pods.
	Failing bool
	// FullNames labels lines with full pod names. It is true if there are several objects.
	FullNames bool
}

// Container is the last known state of a container in a pod.
type Container struct {
	Namespace, Pod string
	uid            types.UID
	Name           string
	node           string
	// label is the prefix of the container's lines: the slot, the short name, or the full name of the pod. If
	// the pod has several containers, the name of the container follows.
	label string
	// failing means that the pod is not ready. reason explains why, if known.
	failing bool
	reason  string
	// run is the number of restarts. started and ended describe the newest run. There is no log before the first start.
	run            int32
	started, ended bool
	// previous means that the log of the previous run can be read. end describes how that run ended, unless last is true.
	previous bool
	end      string
	// last means that the newest run has ended, and the container waits for a restart. The log of this run is
	// requested as the previous log, because the container might restart before the request.
	last bool
	// broken means that the container failed, waits for a restart, or was restarted and is not ready.
	broken bool
	// crashed means that the log of the previous run may explain why the pod is not ready.
	crashed bool
}

// Containers returns the selected containers of the pods of an object.
func Containers(report status.Report, w Wanted) []Container {
	var all []Container
	for _, model := range report.Pods {
		pod := model.Object
		short, slot := shortName(report.Metadata.Name, pod)
		if w.Failing && model.Ready || w.Slot != "" && w.Slot != slot {
			continue
		}
		if w.FullNames {
			short = pod.Name
		}
		all = append(all, containersOf(model, short, !model.Ready, w)...)
	}
	return all
}

// shortName returns the name of a pod without the name of the object, and the slot of the pod. A slot label
// sets both results. Without this label, the slot is the number or word at the end of the name.
func shortName(object string, pod *corev1.Pod) (short, slot string) {
	short = pod.Name
	if rest, is := strings.CutPrefix(pod.Name, object+"-"); is && rest != "" {
		short = rest
	}
	if slot = pod.Labels[apis.LabelSlot]; slot != "" {
		return slot, slot
	}
	return short, short[strings.LastIndexByte(short, '-')+1:]
}

// containersOf returns the selected containers of a pod in their start order.
func containersOf(model problem.Pod, short string, failing bool, w Wanted) []Container {
	pod := model.Object
	statuses := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses)
	main := defaultContainer(pod)
	specs := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	for _, ephemeral := range pod.Spec.EphemeralContainers {
		specs = append(specs, corev1.Container(ephemeral.EphemeralContainerCommon))
	}
	var all []Container
	for _, spec := range specs {
		c := Container{
			Namespace: pod.Namespace, Pod: pod.Name, uid: pod.UID, Name: spec.Name, node: pod.Spec.NodeName,
			label: short, failing: failing, reason: model.Reason,
		}
		if i := slices.IndexFunc(statuses, func(s corev1.ContainerStatus) bool { return s.Name == spec.Name }); i >= 0 {
			c.read(statuses[i])
		}
		c.crashed = failing && c.broken && c.previous && !c.ended
		if len(specs) > 1 {
			c.label += "/" + c.Name
		}
		byDefault := w.Container == "" && (c.Name == main || failing && c.broken)
		if byDefault || w.AllContainers || w.Container == c.Name {
			all = append(all, c)
		}
	}
	return all
}

// defaultContainer returns the name of the container that kubectl selects by default.
func defaultContainer(pod *corev1.Pod) string {
	name := pod.Annotations[apis.AnnotationDefaultContainer]
	switch {
	case len(pod.Spec.Containers) == 0:
		return ""
	case slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == name }):
		return name
	}
	return pod.Spec.Containers[0].Name
}

// read sets the fields about runs from a status.
func (c *Container) read(s corev1.ContainerStatus) {
	last := s.LastTerminationState.Terminated
	c.run = s.RestartCount
	switch {
	case s.State.Running != nil:
		c.started = true
	case s.State.Terminated != nil:
		c.started, c.ended, c.broken = true, true, s.State.Terminated.ExitCode != 0
	case last != nil: // the container waits for a restart
		c.started, c.ended, c.last, c.broken = true, true, true, true
	}
	if last != nil && last.ContainerID != "" {
		c.previous, c.broken = true, c.broken || !s.Ready
	}
	if c.previous && !c.last {
		c.end = fmt.Sprintf("%s, exit code %d", cmp.Or(last.Reason, "Error"), last.ExitCode)
	}
}
