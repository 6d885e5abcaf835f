package problem

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
)

const (
	// calm is how long a container must run until a crash is forgotten. The kubelet uses the same time.
	calm = 10 * time.Minute
	// trial is how long a container must run after its first restart to be considered recovered. After more
	// restarts, the minimum is longTrial. These times are long because a busy kubelet reports a crash late.
	trial, longTrial = 10 * time.Second, time.Minute
)

// container is the status of a container in a pod.
type container struct {
	corev1.ContainerStatus
	// image is the image in the pod spec. The status may name another image.
	image string
	// init is set for an init container that must end before the main containers start, unlike a sidecar.
	init bool
}

// containersOf returns the containers in the status of a pod, init containers first.
func containersOf(pod *corev1.Pod) []container {
	var all []container
	add := func(specs []corev1.Container, statuses []corev1.ContainerStatus, init bool) {
		named := map[string]*corev1.Container{}
		for i := range specs {
			named[specs[i].Name] = &specs[i]
		}
		for _, s := range statuses {
			c := container{ContainerStatus: s, init: init, image: s.Image}
			if spec := named[s.Name]; spec != nil {
				c.image, c.init = spec.Image, init && !Sidecar(*spec)
			}
			all = append(all, c)
		}
	}
	add(pod.Spec.InitContainers, pod.Status.InitContainerStatuses, true)
	add(pod.Spec.Containers, pod.Status.ContainerStatuses, false)
	return all
}

func (c container) title() string {
	if c.init {
		return "init container " + c.Name
	}
	return "container " + c.Name
}

// badContainer sets the finding for the first container that cannot start or crashes. In a ready pod, it
// checks only running containers, which may have crashed recently.
func (f *finding) badContainer(pod *corev1.Pod) bool {
	ready, _ := Ready(pod)
	for _, c := range containersOf(pod) {
		if ready && c.State.Running == nil {
			continue
		}
		if f.waiting(pod, c) || f.crashing(pod, c) {
			f.Container = c.Name
			return true
		}
	}
	return false
}

// waiting sets the finding if the kubelet cannot start a container.
func (f *finding) waiting(pod *corev1.Pod, c container) bool {
	w := c.State.Waiting
	if w == nil {
		return false
	}
	switch w.Reason {
	case "ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "ImageInspectError", "SignatureValidationFailed":
		// The kubelet soon retries a pull that it has throttled, so this failure is not fatal.
		f.Code, f.Fatal = CodeImagePullFailed, !strings.Contains(w.Message, "pull QPS exceeded")
		f.Message = Joined(fmt.Sprintf("%s cannot pull its image %s", c.title(), c.image), f.pullWords(w.Message))
		f.Hint = "check the image name and imagePullSecrets: " + f.describe(pod)
	case "ErrImageNeverPull":
		f.Code, f.Fatal = CodeImagePullFailed, true
		f.Message = fmt.Sprintf("%s needs image %s, which is not on the node, and imagePullPolicy is Never", c.title(), c.image)
		f.Hint = "load the image onto the node, or change imagePullPolicy"
	case "InvalidImageName":
		f.Code, f.Fatal = CodeInvalidImageName, true
		f.Message = fmt.Sprintf("%s has an invalid image name: %q", c.title(), c.image)
		f.Hint = "fix the image in the pod template"
	case "CreateContainerConfigError":
		f.Code, f.Fatal = CodeConfigError, true
		f.Message = fmt.Sprintf("%s cannot be configured: %s", c.title(), w.Message)
		f.Hint = "create the missing object or fix the pod template; " + f.in.Commands.Line(commandline.Kubectl("get", "secrets,configmaps").In(pod.Namespace))
	case "CreateContainerError", "RunContainerError", "PreCreateHookError", "PreStartHookError", "PostStartHookError":
		f.Code, f.Fatal = CodeStartFailed, true
		f.Message = fmt.Sprintf("%s cannot start: %s", c.title(), cmp.Or(w.Message, w.Reason))
		f.Hint = f.describe(pod)
	default:
		return false
	}
	return true
}

// pullWords returns the error of the registry or runtime. During backoff, old kubelets report it only in events.
func (f *finding) pullWords(message string) string {
	if rest, backOff := strings.CutPrefix(message, "Back-off pulling image "); backOff {
		_, message, _ = strings.Cut(rest, `": `)
	}
	for _, e := range slices.Backward(f.Events) {
		if _, words, found := strings.Cut(e.Message, `": `); message == "" && found && e.Reason == "Failed" && strings.HasPrefix(e.Message, "Failed to pull image ") {
			message = words
		}
	}
	message = strings.TrimPrefix(message, "ErrImagePull: ")
	if rest, found := strings.CutPrefix(message, "rpc error: code = "); found {
		_, message, _ = strings.Cut(rest, " desc = ")
	}
	return message
}

// crashing sets the finding if a container is in crash backoff, has ended too early, or has not recovered from a crash.
func (f *finding) crashing(pod *corev1.Pod, c container) bool {
	backingOff := c.State.Waiting != nil && c.State.Waiting.Reason == "CrashLoopBackOff"
	last := cmp.Or(c.State.Terminated, c.LastTerminationState.Terminated)
	switch {
	case backingOff:
	case last == nil, last.ExitCode == 0 && (c.init || c.State.Terminated != nil && pod.Spec.RestartPolicy != corev1.RestartPolicyAlways && pod.Spec.RestartPolicy != ""):
		return false
	case last.Reason == "Unknown" || last.Reason == "ContainerStatusUnknown":
		return false // the exit is unknown, usually because the node restarted
	case c.State.Running != nil && (c.RestartCount == 0 || c.recovered(last, f.in.Now)):
		return false
	}
	f.Code, f.Hint, f.Fatal = CodeCrashLoop, f.showLogs("--failing"), backingOff || c.RestartCount >= 2
	what := "crashes:"
	switch {
	case last == nil:
		f.Message = fmt.Sprintf("%s crashes: %s", c.title(), restarts(c.RestartCount))
		return true
	case last.Reason == "StartError":
		// The container has never run, so this is not a crash.
		f.Code, f.Hint = CodeStartFailed, f.describe(pod)
		f.Message = fmt.Sprintf("%s cannot start: %s", c.title(), cmp.Or(last.Message, last.Reason))
		return true
	case last.Reason == "OOMKilled":
		f.Code, what = CodeOutOfMemory, "runs out of memory:"
		f.Hint = "raise its memory limit in the pod template, or reduce its memory use"
	}
	f.Message = fmt.Sprintf("%s %s %s, last exit code %d", c.title(), what, restarts(c.RestartCount), last.ExitCode)
	if last.Reason != "" && last.Reason != "Error" {
		f.Message += " (" + last.Reason + ")"
	}
	f.Message = Joined(f.Message, last.Message)
	return true
}

// recovered reports whether a running container has recovered from its last crash. A ready container that ran for less
// than calm before the crash must run for trial or, after several restarts, for about twice as long as before.
func (c container) recovered(last *corev1.ContainerStateTerminated, now time.Time) bool {
	runs := now.Sub(c.State.Running.StartedAt.Time)
	if !c.Ready {
		return runs > calm
	}
	ran := last.FinishedAt.Sub(last.StartedAt.Time)
	switch {
	case ran >= calm:
		return true
	case c.RestartCount < 2:
		return runs >= trial
	}
	return runs >= min(max(2*ran, longTrial), calm)
}

func restarts(n int32) string {
	if n == 0 {
		return "no restart yet"
	}
	return Quantity(n, "restart")
}

// Sidecar reports whether an init container keeps running alongside the main containers.
func Sidecar(c corev1.Container) bool {
	return ptr.Deref(c.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways
}
