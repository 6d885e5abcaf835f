package problem

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func lookedAt() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func TestProblemsOfContainers(t *testing.T) {
	t.Parallel()
	at := func(ago time.Duration) metav1.Time { return metav1.NewTime(lookedAt().Add(-ago)) }
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(time.Minute)}}
	ended := func(code int32) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, StartedAt: at(time.Hour), FinishedAt: at(time.Minute)}}
	}
	status := func(name string, ready bool, restarts int32, state, last corev1.ContainerState) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, Ready: ready, RestartCount: restarts, State: state, LastTerminationState: last}
	}
	event := func(reason, container, message string, ago time.Duration) corev1.Event {
		return corev1.Event{Reason: reason, Message: message, LastTimestamp: at(ago),
			InvolvedObject: corev1.ObjectReference{UID: "p", FieldPath: "spec.containers{" + container + "}"}}
	}
	never := corev1.ContainerState{}
	backOff := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	said := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Evicted", Message: "no license"}}
	unknown := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown"}}
	const killing = "Container b failed liveness probe, will be restarted"
	for name, test := range map[string]struct {
		init, main []corev1.ContainerStatus
		ready      bool
		gate       bool
		events     []corev1.Event
		code       Code
		message    string
	}{
		"it runs for the first time, whatever came before": {main: []corev1.ContainerStatus{status("a", false, 0, running, ended(1))},
			code: CodeContainersNotReady, message: "container a is not ready"},
		"it runs again": {main: []corev1.ContainerStatus{status("a", false, 1, running, ended(1))},
			code: CodeCrashLoop, message: "container a crashes: 1 restart, last exit code 1"},
		"a sidecar that ends, though without an error": {init: []corev1.ContainerStatus{status("side", false, 2, ended(0), never)}, main: []corev1.ContainerStatus{status("a", true, 0, running, never)},
			code: CodeCrashLoop, message: "container side crashes: 2 restarts, last exit code 0"},
		"it backs off, and nobody knows how it ended": {main: []corev1.ContainerStatus{status("a", false, 3, backOff, never)},
			code: CodeCrashLoop, message: "container a crashes: 3 restarts"},
		"it has to start, and an init container runs": {init: []corev1.ContainerStatus{status("init", false, 0, running, never)}, main: []corev1.ContainerStatus{status("a", false, 0, never, never)},
			code: CodeInitNotDone, message: "init container init is running, 0 of 1 done"},
		"an init container waits beside a sidecar": {init: []corev1.ContainerStatus{status("side", true, 0, running, never), status("init", false, 0, never, never)}, main: []corev1.ContainerStatus{status("a", false, 0, never, never)},
			code: CodeContainersNotReady, message: "1 of 2 containers ready, waiting for a"},
		"an init container that has ended": {init: []corev1.ContainerStatus{status("init", false, 0, ended(0), never)}, main: []corev1.ContainerStatus{status("a", false, 0, running, never)},
			code: CodeContainersNotReady, message: "container a is not ready"},
		"the pod is ready, and has a container that ended": {main: []corev1.ContainerStatus{status("a", true, 0, running, never), status("b", false, 0, ended(1), never)}, ready: true},
		"the probe of another container fails": {main: []corev1.ContainerStatus{status("a", false, 0, running, never), status("b", false, 0, running, never)},
			events: []corev1.Event{event("Unhealthy", "b", "Readiness probe failed: 503", time.Second)},
			code:   CodeProbeFailed, message: "container b is not ready: Readiness probe failed: 503"},
		"a probe failed before the container was ready": {main: []corev1.ContainerStatus{status("a", true, 0, running, never)}, gate: true,
			events: []corev1.Event{event("Unhealthy", "a", "Readiness probe failed: 503", time.Second)},
			code:   CodeReadinessGate, message: "its readiness gate example.com/in is not True"},
		"a probe failed before the container was started again": {main: []corev1.ContainerStatus{status("a", false, 0, running, never)},
			events: []corev1.Event{event("Unhealthy", "a", "Readiness probe failed: 503", time.Hour)},
			code:   CodeContainersNotReady, message: "container a is not ready"},
		"another container is ended because of its probe": {init: []corev1.ContainerStatus{status("init", false, 0, ended(0), never)},
			main:  []corev1.ContainerStatus{status("a", true, 0, running, never), status("b", true, 0, running, never)},
			ready: true, events: []corev1.Event{event("Killing", "b", killing, time.Second)},
			code: CodeProbeFailed, message: "container b is being restarted: failed its liveness probe"},
		"a container is ended because of its probe, of which the event does not say": {init: []corev1.ContainerStatus{status("init", false, 0, ended(0), never)},
			main:  []corev1.ContainerStatus{status("a", true, 0, running, never)},
			ready: true, events: []corev1.Event{{Reason: "Killing", Message: killing, LastTimestamp: at(time.Second), InvolvedObject: corev1.ObjectReference{UID: "p"}}},
			code: CodeProbeFailed, message: "container a is being restarted: failed its liveness probe"},
		"a container is ended because of its probe beside one that does not run": {main: []corev1.ContainerStatus{status("a", true, 0, never, never), status("b", true, 0, running, never)},
			ready: true, events: []corev1.Event{event("Killing", "b", killing, time.Second)},
			code: CodeProbeFailed, message: "container b is being restarted: failed its liveness probe"},
		"the probe of another container fails, and more was told since": {main: []corev1.ContainerStatus{status("a", true, 0, running, never), status("b", false, 0, running, never)},
			events: []corev1.Event{event("Unhealthy", "b", "Readiness probe failed: 503", 2*time.Second), event("Pulled", "b", "image is there", time.Second)},
			code:   CodeProbeFailed, message: "container b is not ready: Readiness probe failed: 503"},
		"it says why it ended": {main: []corev1.ContainerStatus{status("a", false, 1, backOff, said)},
			code: CodeCrashLoop, message: "container a crashes: 1 restart, last exit code 3 (Evicted): no license"},
		"another container has ended, nobody knows how": {main: []corev1.ContainerStatus{status("a", true, 0, running, never), status("b", false, 0, unknown, never)},
			code: CodeContainersNotReady, message: "1 of 2 containers ready, waiting for b"},
		"a volume is missing": {main: []corev1.ContainerStatus{status("a", false, 0, never, never)},
			events: []corev1.Event{event("FailedMount", "a", "no such volume", time.Second), event("Pulled", "a", "image is there", time.Second)},
			code:   CodeVolumeNotMounted, message: "cannot mount a volume: no such volume"},
		"a volume was missing until a container ran": {main: []corev1.ContainerStatus{status("a", false, 0, running, never)},
			events: []corev1.Event{event("FailedMount", "a", "no such volume", time.Hour)},
			code:   CodeContainersNotReady, message: "container a is not ready"},
		"a volume was missing until an init container ran": {init: []corev1.ContainerStatus{status("init", false, 0, ended(0), never)}, main: []corev1.ContainerStatus{status("a", false, 0, never, never)},
			events: []corev1.Event{event("FailedMount", "a", "no such volume", time.Hour)}},
		"it was ended because of its probe before it was started": {main: []corev1.ContainerStatus{status("b", true, 0, running, never)},
			ready: true, events: []corev1.Event{event("Killing", "b", killing, time.Hour)}},
	} {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns", UID: "p"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
		pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses = test.init, test.main
		for _, c := range test.init {
			spec := corev1.Container{Name: c.Name}
			if c.Name == "side" {
				spec.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
			}
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, spec)
		}
		for _, c := range test.main {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: c.Name})
		}
		if test.ready {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		if test.gate {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: "example.com/in", Status: corev1.ConditionFalse})
			pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/in"}}
		}
		f, found := OfPod(&pod, "", Context{Now: lookedAt(), Events: map[types.UID][]corev1.Event{"p": test.events}})
		if found != (test.code != "") || f.Code != test.code || f.Message != test.message {
			t.Errorf("%s: %t, %s: %q; want %s: %q", name, found, f.Code, f.Message, test.code, test.message)
		}
	}
}

// The message of the registry is shown without prefixes from other programs. It is read from the
// status or an event.
func TestPullWords(t *testing.T) {
	t.Parallel()
	const old, backOff = `Failed to pull image "web:v2": `, `Back-off pulling image "web:v2"`
	event := func(reason, message string) corev1.Event { return corev1.Event{Reason: reason, Message: message} }
	for _, test := range []struct {
		message string
		events  []corev1.Event
		want    string
	}{
		{"not found", nil, "not found"},
		{"rpc error: code = NotFound desc = not found", nil, "not found"},
		{backOff + ": ErrImagePull: not found", nil, "not found"},
		{backOff, nil, ""},
		{backOff, []corev1.Event{event("Failed", old+"denied"), event("Failed", old+"not found")}, "not found"},
		{backOff, []corev1.Event{event("Failed", old+"not found"), event("Failed", `Error: "web": ErrImagePull`), event("BackOff", old+"wait")}, "not found"},
		{"not found", []corev1.Event{event("Failed", old+"denied")}, "not found"},
	} {
		f := Finding{Events: test.events}
		if got := f.pullWords(test.message); got != test.want {
			t.Errorf("%q, and %d events: %q, want %q", test.message, len(test.events), got, test.want)
		}
	}
}

// Lasting ignores terminating, finished, and ready pods, even if their containers have failed.
func TestLasting(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   Code
	}{
		"it crashes":       {func(*corev1.Pod) {}, CodeCrashLoop},
		"it is going":      {func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(lookedAt())) }, ""},
		"it has failed":    {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, ""},
		"it has succeeded": {func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, ""},
		"it is ready": {func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}, ""},
		"it starts": {func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }, ""},
		"it crashed once so far": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State, p.Status.ContainerStatuses[0].RestartCount = ended(1), 0
		}, ""},
		"it cannot be scheduled": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses = nil
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodInitialized, Status: corev1.ConditionFalse}, {Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no nodes"}}
		}, CodeUnschedulable},
	} {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "foo-0"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
		pod.Spec.Containers = []corev1.Container{{Name: "a"}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "a", RestartCount: 3, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}}
		test.change(&pod)
		if code, message := Lasting(&pod); code != test.want || (message == "") != (test.want == "") {
			t.Errorf("%s: %q, %q, want %q", name, code, message, test.want)
		}
	}
}

func ended(code int32) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}
}

func TestProbeWords(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"Container a failed liveness probe, will be restarted": "failed its liveness probe",
		"Stopping container a":                                 "Stopping container a",
	} {
		if got := probeWords(message); got != want {
			t.Errorf("%q is %q, want %q", message, got, want)
		}
	}
	if probeKills(corev1.Event{Reason: "Killing", Message: "Stopping container a"}) || probeKills(corev1.Event{Reason: "Unhealthy", Message: "a probe, b"}) {
		t.Error("a container that is stopped for another reason is ended by a probe")
	}
}

func TestSidecar(t *testing.T) {
	t.Parallel()
	for policy, want := range map[corev1.ContainerRestartPolicy]bool{
		corev1.ContainerRestartPolicyAlways: true, corev1.ContainerRestartPolicyOnFailure: false, corev1.ContainerRestartPolicyNever: false,
	} {
		if got := Sidecar(&corev1.Container{RestartPolicy: &policy}); got != want {
			t.Errorf("an init container that is restarted %s is a sidecar: %t", policy, got)
		}
	}
}
