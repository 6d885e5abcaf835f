package problem

import (
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// The model includes init containers and sidecars.
func TestPodThatInitializes(t *testing.T) {
	t.Parallel()
	status := func(name string, restarts int32, state corev1.ContainerState) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, RestartCount: restarts, State: state}
	}
	started := func(s corev1.ContainerStatus, started, ready bool) corev1.ContainerStatus {
		s.Started, s.Ready = &started, ready
		return s
	}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	waiting := func(reason string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "why"}}
	}
	ended := func(code int32, reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}}
	}
	for name, test := range map[string]struct {
		init              []corev1.ContainerStatus
		status, reason    string
		readies, restarts int32
	}{
		"the first runs":             {[]corev1.ContainerStatus{status("a", 1, running), status("b", 0, waiting("PodInitializing"))}, "Init:0/3", "", 0, 1},
		"the second runs":            {[]corev1.ContainerStatus{status("a", 2, ended(0, "Completed", "")), status("b", 1, running)}, "Init:1/3", "", 0, 3},
		"the second is to start":     {[]corev1.ContainerStatus{status("a", 0, ended(0, "Completed", "")), status("b", 0, waiting("PodInitializing"))}, "Init:1/3", "", 0, 0},
		"it waits without a reason":  {[]corev1.ContainerStatus{status("a", 0, waiting(""))}, "Init:0/3", "", 0, 0},
		"its image cannot be pulled": {[]corev1.ContainerStatus{status("a", 0, waiting("ErrImagePull"))}, "Init:ErrImagePull", "why", 0, 0},
		"it failed":                  {[]corev1.ContainerStatus{status("a", 4, ended(3, "Error", ""))}, "Init:Error", "exit code 3", 0, 4},
		"it failed without a word":   {[]corev1.ContainerStatus{status("a", 0, ended(3, "", "out of disk"))}, "Init:ExitCode:3", "out of disk", 0, 0},
		"a signal ended it": {[]corev1.ContainerStatus{status("a", 0, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Signal: 9}})},
			"Init:Signal:9", "exit code 137", 0, 0},
		"all have ended":                                 {[]corev1.ContainerStatus{status("a", 1, ended(0, "", "")), status("b", 1, ended(0, "", ""))}, "Running", "", 1, 5},
		"one is started and runs beside":                 {[]corev1.ContainerStatus{started(status("side", 2, running), true, false)}, "Running", "", 1, 7},
		"two are started and run beside":                 {[]corev1.ContainerStatus{started(status("side", 2, running), true, false), started(status("side", 3, running), true, false)}, "Running", "", 1, 10},
		"it is ready, too":                               {[]corev1.ContainerStatus{started(status("side", 2, running), true, true)}, "Running", "", 2, 7},
		"it is not started yet":                          {[]corev1.ContainerStatus{started(status("side", 2, running), false, false)}, "Init:0/3", "", 0, 2},
		"one that is started, and is none to run beside": {[]corev1.ContainerStatus{started(status("a", 1, running), true, true)}, "Init:0/3", "", 0, 1},
	} {
		pod := corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
		pod.Spec.InitContainers = []corev1.Container{{Name: "a"}, {Name: "b"}, {Name: "side", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}}
		pod.Status.InitContainerStatuses = test.init
		main := started(status("main", 5, running), true, true)
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{main}
		p := NewPod(&pod)
		if p.Status != test.status || p.Reason != test.reason || p.ReadyContainers != int(test.readies) || p.Restarts != test.restarts || p.Containers != 2 {
			t.Errorf("%s: got %+v, want %+v", name, p, test)
		}
	}
}

// Anyone who can create pods can add many containers to one pod. There is no allocation per
// container, so the cost is not quadratic.
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
			t.Errorf("the model has %d restarts, want %d", p.Restarts, 2*containers)
		}
	})
	if allocations > containers {
		t.Errorf("%d containers cost %.0f allocations", 2*containers, allocations)
	}
}

// NewPod sets the same status as kubectl, and the reason why the pod is not ready. As in kubectl,
// the first container that is not running determines the status.
func TestNewPod(t *testing.T) {
	t.Parallel()
	runs := corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	ready := runs
	ready.Ready, ready.RestartCount = true, 2
	waits := corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}}}
	ended := func(code int32, reason, message string) corev1.ContainerStatus {
		return corev1.ContainerStatus{RestartCount: 1, State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message},
		}}
	}
	failed, done := ended(3, "Error", ""), ended(0, "Completed", "")
	isReady := []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	scheduled := func(status corev1.ConditionStatus, reason string) []corev1.PodCondition {
		return []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: status, Reason: reason, Message: "no node"},
			{Type: corev1.PodInitialized, Status: corev1.ConditionFalse, Message: "it starts"},
		}
	}
	for name, test := range map[string]struct {
		containers []corev1.ContainerStatus
		conditions []corev1.PodCondition
		deleted    bool
		status     string
		reason     string
		ready      bool
		readies    int
		restarts   int32
	}{
		"ready":                     {[]corev1.ContainerStatus{ready}, isReady, false, "Running", "", true, 1, 2},
		"one of two is ready":       {[]corev1.ContainerStatus{ready, runs}, nil, false, "Running", "", false, 1, 2},
		"terminating, though ready": {[]corev1.ContainerStatus{ready}, isReady, true, "Terminating", "", false, 1, 2},
		"the second waits":          {[]corev1.ContainerStatus{runs, waits, failed}, nil, false, "ImagePullBackOff", "no such image", false, 0, 1},
		"the first ended":           {[]corev1.ContainerStatus{failed, waits}, nil, false, "Error", "exit code 3", false, 0, 1},
		"it ended, and said why":    {[]corev1.ContainerStatus{ended(137, "OOMKilled", "no memory")}, nil, false, "OOMKilled", "no memory", false, 0, 1},
		"all are done":              {[]corev1.ContainerStatus{done, done}, nil, false, "Completed", "exit code 0", false, 0, 2},
		"one is done":               {[]corev1.ContainerStatus{done, runs}, nil, false, "NotReady", "exit code 0", false, 0, 1},
		"no node":                   {nil, scheduled(corev1.ConditionFalse, "Unschedulable"), false, "Running", "no node", false, 0, 0},
		"a node":                    {nil, scheduled(corev1.ConditionTrue, ""), false, "Running", "", false, 0, 0},
		"scheduling gates":          {nil, scheduled(corev1.ConditionFalse, "SchedulingGated"), false, "SchedulingGated", "no node", false, 0, 0},
	} {
		pod := corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: test.containers, Conditions: test.conditions}}
		if test.deleted {
			pod.DeletionTimestamp = new(metav1.Now())
		}
		p := NewPod(&pod)
		if p.Status != test.status || p.Reason != test.reason || p.Ready != test.ready || p.ReadyContainers != test.readies || p.Restarts != test.restarts {
			t.Errorf("%s: got %+v, want %+v", name, p, test)
		}
	}
	evicted := corev1.Pod{Status: corev1.PodStatus{Reason: "Evicted", Message: "no memory", ContainerStatuses: []corev1.ContainerStatus{failed}}}
	if p := NewPod(&evicted); p.Ended() != "Evicted: no memory" {
		t.Errorf("an evicted pod ended as %q", p.Ended())
	}
}

// A ready pod with a liveness probe can have a problem that only events show.
func TestProbed(t *testing.T) {
	t.Parallel()
	probed, plain := []corev1.Container{{LivenessProbe: &corev1.Probe{}}}, []corev1.Container{{}}
	for name, test := range map[string]struct {
		init, main []corev1.Container
		ready      corev1.ConditionStatus
		want       bool
	}{
		"no probe":              {plain, plain, corev1.ConditionTrue, false},
		"a probe":               {nil, probed, corev1.ConditionTrue, true},
		"a probe of a sidecar":  {probed, plain, corev1.ConditionTrue, true},
		"a probe, not ready":    {probed, probed, corev1.ConditionFalse, false},
		"a probe of the second": {nil, append(plain, probed...), corev1.ConditionTrue, true},
	} {
		pod := corev1.Pod{Spec: corev1.PodSpec{InitContainers: test.init, Containers: test.main}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: test.ready}}
		if got := NewPod(&pod).Probed; got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
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
		if !Sound(pod) {
			return
		}
		sound++
		for _, after := range []time.Duration{0, time.Minute, time.Hour} {
			if f, found := OfPod(pod, "", Context{Now: lookedAt().Add(after)}); found {
				t.Errorf("after %s it is %s: %s", after, f.Code, f.Message)
			}
		}
	})
	if sound == 0 {
		t.Error("no pod was sound")
	}
}
