package status

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// anyPod returns a pod with a random state and owner.
func anyPod(t *rapid.T) *corev1.Pod {
	pod := ownedPod(fmt.Sprintf("p-%d", rapid.IntRange(0, 12).Draw(t, "name")), rapid.SampledFrom([]types.UID{"it", "set", "other"}).Draw(t, "owner"))
	pod.UID = types.UID(fmt.Sprint(pod.Name, rapid.SampledFrom([]string{"", "-again"}).Draw(t, "UID")))
	if rapid.IntRange(0, 5).Draw(t, "owned") == 0 {
		pod.OwnerReferences = nil
	}
	pod.CreationTimestamp = metav1.NewTime(lookedAt().Add(-time.Hour))
	pod.Labels = map[string]string{apis.LabelTemplateHash: rapid.SampledFrom([]string{"", "new", "old"}).Draw(t, "template")}
	if rapid.IntRange(0, 5).Draw(t, "going") == 0 {
		pod.DeletionTimestamp = new(metav1.NewTime(lookedAt().Add(-time.Minute)))
	}
	pod.Status.Phase = rapid.SampledFrom([]corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodFailed, corev1.PodSucceeded}).Draw(t, "phase")
	ready := rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse}).Draw(t, "ready")
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	pod.Spec.Containers = []corev1.Container{{Name: "main"}}
	if rapid.Bool().Draw(t, "probed") {
		pod.Spec.Containers[0].LivenessProbe = &corev1.Probe{}
	}
	c := corev1.ContainerStatus{Name: "main", Ready: ready == corev1.ConditionTrue}
	switch rapid.IntRange(0, 3).Draw(t, "state") {
	case 0:
		c.State.Waiting = &corev1.ContainerStateWaiting{Reason: rapid.SampledFrom([]string{"ImagePullBackOff", "CrashLoopBackOff", "ContainerCreating"}).Draw(t, "waiting")}
	case 1:
		c.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1}
	default:
		c.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(lookedAt().Add(-time.Second))}
	}
	if c.RestartCount = rapid.Int32Range(0, 2).Draw(t, "restarts"); c.RestartCount > 0 && rapid.Bool().Draw(t, "ended") {
		c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, StartedAt: metav1.NewTime(lookedAt().Add(-3 * time.Second)), FinishedAt: metav1.NewTime(lookedAt().Add(-2 * time.Second))}
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{c}
	return &pod
}

// A sound pod has no problem at any time, unless events report one.
func TestSoundPods(t *testing.T) {
	t.Parallel()
	sound := 0
	rapid.Check(t, func(t *rapid.T) {
		pod := anyPod(t)
		if !problem.Sound(pod) {
			return
		}
		sound++
		for _, after := range []time.Duration{0, time.Minute, time.Hour} {
			f, found := problem.OfPod(pod, "", problem.Context{Now: lookedAt().Add(after)})
			if found {
				t.Errorf("after %s it is %s: %s", after, f.Code, f.Message)
			}
		}
	})
	if sound == 0 {
		t.Error("no pod was sound")
	}
}

// A ready pod with a probe may have a problem that only events show.
func TestProbed(t *testing.T) {
	t.Parallel()
	probed, plain := []corev1.Container{{LivenessProbe: &corev1.Probe{}}}, []corev1.Container{{}}
	for name, test := range map[string]struct {
		init, main []corev1.Container
		ready      bool
		want       bool
	}{
		"no probe":              {plain, plain, true, false},
		"a probe":               {nil, probed, true, true},
		"a probe of a sidecar":  {probed, plain, true, true},
		"a probe, not ready":    {probed, probed, false, false},
		"no probe, nor ready":   {nil, plain, false, false},
		"no containers at all":  {nil, nil, true, false},
		"a probe of the second": {nil, append(plain, probed...), true, true},
	} {
		pod := ownedPod("foo-0", "u")
		pod.Spec.InitContainers, pod.Spec.Containers = test.init, test.main
		if test.ready {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		if got := (Snapshot{Object: Object{Identity: Identity{UID: "u"}}, Pods: problem.NewPods([]corev1.Pod{pod})}).Probed(); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}
