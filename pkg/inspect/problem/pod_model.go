package problem

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// Pod is the model of a pod in a report. It is made once per version of the pod, so updates of many pods are cheap.
type Pod struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
	// Phase is the pod's phase. Status is the status that kubectl shows.
	Phase  corev1.PodPhase `json:"phase"`
	Status string          `json:"status"`
	Ready  bool            `json:"ready"`
	// Containers is the number of containers, including sidecars. ReadyContainers is how many of them are ready.
	ReadyContainers int       `json:"readyContainers"`
	Containers      int       `json:"containers"`
	Restarts        int32     `json:"restarts"`
	Node            string    `json:"node,omitempty"`
	Created         time.Time `json:"created"`
	// Ending is set if the pod is being deleted.
	Ending bool `json:"-"`
	// Owner is the UID of the pod's controller, or empty if it has none.
	Owner types.UID `json:"-"`
	// Code and Reason are why the pod is not ready, as a code and as a text. Each is "" if unknown.
	Code   Code   `json:"code,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Object is the pod itself. It must not be changed.
	Object *corev1.Pod `json:"-"`
	// Sound is set if only events can show a problem with the pod: the pod is ready and active, and no running
	// container has terminated before. Probed is set if the pod is ready and has a container with a liveness probe.
	Sound, Probed bool `json:"-"`
}

// NewPod returns the model of a pod. It determines the counts and the status almost as kubectl does
// (k8s.io/kubernetes/pkg/printers/internalversion, printPod).
func NewPod(pod *corev1.Pod) *Pod {
	p := &Pod{
		Name:       pod.Name,
		UID:        pod.UID,
		Phase:      pod.Status.Phase,
		Status:     string(pod.Status.Phase),
		Containers: len(pod.Spec.Containers) + int(Count(pod.Spec.InitContainers, Sidecar)),
		Node:       pod.Spec.NodeName,
		Created:    pod.CreationTimestamp.Time,
		Owner:      ptr.Deref(metav1.GetControllerOfNoCopy(pod), metav1.OwnerReference{}).UID,
		Object:     pod,
	}
	if initializing := p.addInit(pod); !initializing || conditionOf(pod, corev1.PodInitialized).Status == corev1.ConditionTrue {
		p.addMain(pod.Status.ContainerStatuses)
	}
	// Unlike in kubectl, the reason why a pod ended, such as Evicted, takes precedence over its containers' states.
	if pod.Status.Reason != "" {
		p.Status, p.Reason = pod.Status.Reason, pod.Status.Message
	}
	p.Ready, _ = Ready(pod)
	if c := conditionOf(pod, corev1.PodScheduled); c.Status == corev1.ConditionFalse {
		p.Reason = c.Message
		if c.Reason == corev1.PodReasonSchedulingGated {
			p.Status = c.Reason
		}
	}
	if pod.DeletionTimestamp != nil {
		p.Status, p.Ready, p.Ending = "Terminating", false, true
	}
	restarted := func(c corev1.ContainerStatus) bool {
		return c.State.Running != nil && c.LastTerminationState.Terminated != nil
	}
	p.Sound = p.Ready && p.Active() &&
		!slices.ContainsFunc(pod.Status.ContainerStatuses, restarted) && !slices.ContainsFunc(pod.Status.InitContainerStatuses, restarted)
	probed := func(c corev1.Container) bool { return c.LivenessProbe != nil }
	p.Probed = p.Ready && (slices.ContainsFunc(pod.Spec.Containers, probed) || slices.ContainsFunc(pod.Spec.InitContainers, probed))
	return p
}

// addMain counts ready containers and restarts, and copies the status of the first waiting or terminated container.
func (p *Pod) addMain(containers []corev1.ContainerStatus) {
	running := false
	for _, c := range slices.Backward(containers) {
		running = running || c.State.Running != nil
		p.Restarts += c.RestartCount
		if c.Ready {
			p.ReadyContainers++
		}
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			p.Status, p.Reason = c.State.Waiting.Reason, c.State.Waiting.Message
		case c.State.Terminated != nil:
			p.Status, p.Reason = ending(c.State.Terminated), exit(c.State.Terminated)
		}
	}
	if running && p.Status == "Completed" {
		p.Status = "NotReady"
	}
}

// addInit counts ready sidecars and restarts. It reports whether the pod is still initializing and, if so, sets Status.
func (p *Pod) addInit(pod *corev1.Pod) (initializing bool) {
	restarts := int32(0)
	for i, c := range containersOf(pod)[:len(pod.Status.InitContainerStatuses)] {
		restarts += c.RestartCount
		switch t := c.State.Terminated; {
		case t != nil && t.ExitCode == 0:
			continue
		case !c.init && c.Started != nil && *c.Started:
			p.Restarts += c.RestartCount
			if c.Ready {
				p.ReadyContainers++
			}
			continue
		case t != nil:
			p.Status, p.Reason = "Init:"+ending(t), exit(t)
		case c.State.Waiting != nil && c.State.Waiting.Reason != "" && c.State.Waiting.Reason != "PodInitializing":
			p.Status, p.Reason = "Init:"+c.State.Waiting.Reason, c.State.Waiting.Message
		default:
			p.Status = fmt.Sprintf("Init:%d/%d", i, len(pod.Spec.InitContainers))
		}
		p.Restarts = restarts
		return true
	}
	return false
}

// ending returns the status that kubectl shows for a terminated container.
func ending(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", t.ExitCode)
}

func exit(t *corev1.ContainerStateTerminated) string {
	return cmp.Or(t.Message, fmt.Sprintf("exit code %d", t.ExitCode))
}

// Active reports whether the pod has not finished and is not being deleted.
func (p Pod) Active() bool {
	return !p.Ending && p.Phase != corev1.PodSucceeded && p.Phase != corev1.PodFailed
}

// Ended returns the status of a finished pod and, if set, the reason.
func (p Pod) Ended() string { return Joined(p.Status, p.Reason) }

// ComparePods orders pods by name, as CompareNames does, and then by UID. Reports use this order.
func ComparePods(a, b *Pod) int {
	return cmp.Or(CompareNames(a.Name, b.Name), strings.Compare(string(a.UID), string(b.UID)))
}
