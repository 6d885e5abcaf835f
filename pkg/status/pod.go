package status

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// newPod is the model of a pod. The word for its status is found as kubectl
// finds it (k8s.io/kubernetes/pkg/printers/internalversion, printPod).
func newPod(pod *corev1.Pod) Pod {
	p := Pod{
		Name:       pod.Name,
		UID:        pod.UID,
		Phase:      pod.Status.Phase,
		Status:     string(pod.Status.Phase),
		Containers: len(pod.Spec.Containers),
		Node:       pod.Spec.NodeName,
		Created:    pod.CreationTimestamp.Time,
	}
	if pod.Status.Reason != "" {
		p.Status, p.Reason = pod.Status.Reason, pod.Status.Message
	}
	for _, c := range pod.Status.ContainerStatuses {
		p.Restarts += c.RestartCount
		if c.Ready {
			p.ReadyContainers++
		}
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			p.Status, p.Reason = c.State.Waiting.Reason, c.State.Waiting.Message
		case c.State.Terminated != nil && c.State.Terminated.Reason != "":
			p.Status, p.Reason = c.State.Terminated.Reason, exit(c.State.Terminated)
		}
	}
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Type == corev1.PodReady:
			p.Ready = c.Status == corev1.ConditionTrue
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse:
			p.Reason = c.Message
		}
	}
	if pod.DeletionTimestamp != nil {
		p.Status, p.Ready = "Terminating", false
	}
	return p
}

func exit(t *corev1.ContainerStateTerminated) string {
	if t.Message != "" {
		return t.Message
	}
	return fmt.Sprintf("exit code %d", t.ExitCode)
}
