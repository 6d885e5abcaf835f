package problem

import (
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// Anyone who can create pods can add many containers to one pod. The cost stays low, because there
// is no allocation for each container.
func TestCostOfContainers(t *testing.T) { // not parallel, because it counts allocations
	const containers = 500
	pod := corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	for i := range containers {
		name := strconv.Itoa(i)
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: name, RestartPolicy: new(corev1.ContainerRestartPolicyAlways)})
		pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, corev1.ContainerStatus{Name: name, Started: new(true), RestartCount: 1})
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: name})
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: name, RestartCount: 1})
	}
	allocations := testing.AllocsPerRun(1, func() {
		if p := NewPod(&pod); p.Restarts != 2*containers || len(containersOf(&pod)) != 2*containers {
			t.Errorf("%d restarts, %d containers; want %d of each", p.Restarts, len(containersOf(&pod)), 2*containers)
		}
	})
	if allocations > containers {
		t.Errorf("%d containers cost %.0f allocations, want at most %d", 2*containers, allocations, containers)
	}
}

// OfPod finds problems of a sound pod only in events.
func TestSoundPods(t *testing.T) {
	t.Parallel()
	sound := 0
	at := func(ago time.Duration) metav1.Time { return metav1.NewTime(lookedAt().Add(-ago)) }
	rapid.Check(t, func(t *rapid.T) {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}
		if rapid.IntRange(0, 5).Draw(t, "deleted") == 0 {
			pod.DeletionTimestamp = new(at(time.Minute))
		}
		pod.Status.Phase = rapid.SampledFrom([]corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodFailed, corev1.PodSucceeded}).Draw(t, "phase")
		ready := rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse}).Draw(t, "ready")
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
		c := corev1.ContainerStatus{Name: "main", Ready: ready == corev1.ConditionTrue}
		switch rapid.IntRange(0, 3).Draw(t, "state") {
		case 0:
			reason := rapid.SampledFrom([]string{"ImagePullBackOff", "CrashLoopBackOff", "ContainerCreating"}).Draw(t, "waiting")
			c.State.Waiting = &corev1.ContainerStateWaiting{Reason: reason}
		case 1:
			c.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1}
		default:
			c.State.Running = &corev1.ContainerStateRunning{StartedAt: at(time.Second)}
		}
		if c.RestartCount = rapid.Int32Range(0, 2).Draw(t, "restarts"); c.RestartCount > 0 && rapid.Bool().Draw(t, "ended") {
			c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, StartedAt: at(3 * time.Second), FinishedAt: at(2 * time.Second)}
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{c}
		if !NewPod(pod).Sound {
			return
		}
		sound++
		for _, after := range []time.Duration{0, time.Minute, time.Hour} {
			if f, found := OfPod(pod, "", Context{Now: lookedAt().Add(after)}); found {
				t.Errorf("sound pod has a problem after %s: %s: %s", after, f.Code, f.Message)
			}
		}
	})
	if sound == 0 {
		t.Error("no generated pod is sound")
	}
}
