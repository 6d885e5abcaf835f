package problem

import (
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// The model includes init containers, and sidecars, which start before the other containers and
// keep running.
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

// Anyone who can create pods can give one many containers. If the time were quadratic in their
// number, this test would not end.
func TestCostOfContainers(t *testing.T) {
	t.Parallel()
	const containers = 200_000
	pod := corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	for i := range containers {
		name := strconv.Itoa(i)
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: name, RestartPolicy: new(corev1.ContainerRestartPolicyAlways)})
		pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, corev1.ContainerStatus{Name: name, Started: new(true), RestartCount: 1})
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: name})
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: name, RestartCount: 1})
	}
	if p := NewPod(&pod); p.Restarts != 2*containers || len(containersOf(&pod)) != 2*containers {
		t.Errorf("the model has %d restarts, want %d", p.Restarts, 2*containers)
	}
}

// As in kubectl, the first container that does not run decides the status of the pod.
func TestPodWithSeveralContainers(t *testing.T) {
	t.Parallel()
	runs := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	waits := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	failed := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}}
	done := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}
	for want, states := range map[string][]corev1.ContainerState{
		"Running": {runs, runs}, "CrashLoopBackOff": {runs, waits, failed}, "Error": {failed, waits}, "Completed": {done, done}, "NotReady": {done, runs},
	} {
		pod := corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}}
		for _, state := range states {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{State: state})
		}
		if p := NewPod(&pod); p.Status != want {
			t.Errorf("the status is %s, want %s", p.Status, want)
		}
	}
}

// A pod that waits for its scheduling gates has the status SchedulingGated, as in kubectl. A pod
// that waits for a node has its phase as its status.
func TestPodThatIsNotScheduled(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{"SchedulingGated": "SchedulingGated", "Unschedulable": "Pending"} {
		pod := corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
		pod.Status.Phase = corev1.PodPending
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: "why"}}
		if p := NewPod(&pod); p.Status != want || p.Reason != "why" {
			t.Errorf("%s: its status is %s, %q, want %s", reason, p.Status, p.Reason, want)
		}
	}
}

// PodScheduled=False is the only pod condition whose message becomes the reason.
func TestReasonOfAPodThatWaits(t *testing.T) {
	t.Parallel()
	for want, condition := range map[string]corev1.PodCondition{
		"no node": {Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "no node"},
		"":        {Type: corev1.PodScheduled, Status: corev1.ConditionTrue, Message: "a node"},
	} {
		pod := corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
		pod.Status.Conditions = []corev1.PodCondition{condition, {Type: corev1.PodInitialized, Status: corev1.ConditionFalse, Message: "it starts"}}
		if got := NewPod(&pod).Reason; got != want {
			t.Errorf("the reason is %q, want %q", got, want)
		}
	}
}
