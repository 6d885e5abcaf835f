package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The reasons of the kubelet and of the node controller that these rules read
// (k8s.io/kubernetes/pkg/kubelet/images, /kuberuntime, /events, and
// /pkg/util/node). They are part of no API and have not changed in years.
const (
	podInitializing   = "PodInitializing"
	errImagePull      = "ErrImagePull"
	imagePullBackOff  = "ImagePullBackOff"
	pullLimit         = "pull QPS exceeded"
	crashLoopBackOff  = "CrashLoopBackOff"
	startError        = "StartError"
	endUnseen         = "Unknown"
	endUnknown        = "ContainerStatusUnknown"
	oomKilled         = "OOMKilled"
	nodeLost          = "NodeLost"
	eventFailed       = "Failed"
	eventUnhealthy    = "Unhealthy"
	eventScaleUp      = "TriggeredScaleUp"
	eventSandbox      = "FailedCreatePodSandBox"
	eventFailedCreate = "FailedCreate"
	eventCreated      = "SuccessfulCreate"
)

// EventKilling is the reason of the event that a kubelet ends a container.
const EventKilling = "Killing"

const (
	// slack is how long after its grace period a pod is not yet called late: the
	// kubelet and the server need a moment, too.
	slack = 15 * time.Second
	// finalizing is how long a finalizer may take before it is called stuck.
	finalizing = time.Minute
	// calm is how long a container runs until it is forgotten that it crashed, as
	// the kubelet forgets it.
	calm = 10 * time.Minute
	// trial is how long a container runs, after it was started again, until it is
	// believed to be ready; longTrial if that was not the first time. A kubelet that
	// is busy tells of an end many seconds late.
	trial, longTrial = 10 * time.Second, time.Minute
)

// podFinding says what keeps a pod from being ready, as far as the pod, its
// events and its node tell.
func podFinding(pod *corev1.Pod, e Snapshot, events happened) (finding, bool) {
	f := finding{pod: pod.Name, since: notReadySince(pod), events: events[pod.UID]}
	model := newPod(pod)
	var found bool
	switch {
	case pod.DeletionTimestamp != nil:
		found = f.terminating(pod, e)
	case pod.Status.Phase == corev1.PodFailed, pod.Status.Phase == corev1.PodSucceeded:
		f.code, f.message = CodePodEnded, "it has ended: "+model.Status
		if model.Reason != "" {
			f.message += ": " + model.Reason
		}
		found = true
	case model.Ready:
		// Its kubelet says so of the moment, and forgets at once what was before.
		found = f.crashedLately(pod, e.Now) || f.stopping(pod)
	default:
		found = f.unscheduled(pod) || f.lost(pod, e) || f.badContainer(pod, e.Now) || f.unmounted(pod) ||
			f.unhealthy(pod) || f.incomplete(pod)
	}
	return f, found
}

// notReadySince is when a pod was last ready, or was created.
func notReadySince(pod *corev1.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status != corev1.ConditionTrue && !c.LastTransitionTime.IsZero() {
			return c.LastTransitionTime.Time
		}
	}
	return pod.CreationTimestamp.Time
}

// terminating says why a pod that is being deleted is still there. Its deletion
// timestamp is the end of its grace period.
func (f *finding) terminating(pod *corev1.Pod, e Snapshot) bool {
	f.since = pod.DeletionTimestamp.Time
	over := e.Now.Sub(f.since)
	switch {
	case over < slack:
		return false
	case len(pod.Finalizers) > 0:
		f.held("pods", pod.Namespace, pod.Name, pod.Finalizers, e.Now)
	default:
		f.code, f.fatal = CodeTerminating, true
		f.message = "it is still there after its grace period"
		f.hint = fmt.Sprintf("if its node is gone for good: kubectl delete pod %s -n %s --force --grace-period=0", pod.Name, pod.Namespace)
		if why, lost := nodeTrouble(pod, e); lost {
			f.message += ": " + why
		}
	}
	return true
}

// held is the finding of an object whose deletion finalizers hold up. The
// garbage collector's own are no trouble.
func (f *finding) held(resource, namespace, name string, finalizers []string, now time.Time) {
	f.code, f.fatal = CodeFinalizer, now.Sub(f.since) > finalizing
	f.message = "its deletion is held up by the finalizer " + strings.Join(finalizers, ", ")
	f.hint = fmt.Sprintf("who put it there must take it off; if nobody will: kubectl patch %s %s%s --type=merge -p '{\"metadata\":{\"finalizers\":null}}'",
		resource, name, inNamespace(namespace))
}

func inNamespace(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " -n " + namespace
}

// unscheduled says why a pod has no node, in the scheduler's own words.
func (f *finding) unscheduled(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type != corev1.PodScheduled || c.Status != corev1.ConditionFalse {
			continue
		}
		f.since = c.LastTransitionTime.Time
		if c.Reason == corev1.PodReasonSchedulingGated {
			f.code, f.message = CodeSchedulingGated, "its scheduling gates are not open"
			return true
		}
		f.code, f.message = CodeUnschedulable, "no node fits: "+c.Message
		f.hint = "kubectl get nodes; make room, or ask for less in the pod template"
		f.fatal = !slices.ContainsFunc(f.events, func(e corev1.Event) bool { return e.Reason == eventScaleUp })
		return true
	}
	return false
}

// lost says that a pod's node is gone or does not answer.
func (f *finding) lost(pod *corev1.Pod, e Snapshot) bool {
	why, lost := nodeTrouble(pod, e)
	if !lost {
		return false
	}
	f.code, f.message, f.fatal = CodeNodeLost, why, true
	f.hint = "kubectl get nodes; kubectl describe node " + pod.Spec.NodeName
	return true
}

func nodeTrouble(pod *corev1.Pod, e Snapshot) (string, bool) {
	name := pod.Spec.NodeName
	node, read := e.Nodes[name]
	if read && node == nil {
		return fmt.Sprintf("its node %s is gone", name), true
	}
	if read {
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
				return fmt.Sprintf("its node %s is not ready: %s", name, cmp.Or(c.Message, c.Reason)), true
			}
		}
	}
	if pod.Status.Reason == nodeLost {
		return cmp.Or(pod.Status.Message, fmt.Sprintf("its node %s does not answer", name)), true
	}
	return "", false
}

// containersOf are a pod's containers with what is known of them, init
// containers first.
func containersOf(pod *corev1.Pod) []container {
	var all []container
	add := func(specs []corev1.Container, statuses []corev1.ContainerStatus, init bool) {
		for _, s := range statuses {
			c := container{ContainerStatus: s, init: init, image: s.Image}
			for i := range specs {
				if specs[i].Name == s.Name {
					c.image, c.sidecar = specs[i].Image, sidecar(&specs[i])
				}
			}
			all = append(all, c)
		}
	}
	add(pod.Spec.InitContainers, pod.Status.InitContainerStatuses, true)
	add(pod.Spec.Containers, pod.Status.ContainerStatuses, false)
	return all
}

type container struct {
	corev1.ContainerStatus
	// image is as the template has it, which may not be what a status says.
	image         string
	init, sidecar bool
}

// title names a container in a sentence.
func (c container) title() string {
	if c.init && !c.sidecar {
		return "init container " + c.Name
	}
	return "container " + c.Name
}

// badContainer says what is wrong with the first container of which the kubelet
// tells that something is.
func (f *finding) badContainer(pod *corev1.Pod, now time.Time) bool {
	for _, c := range containersOf(pod) {
		if f.waiting(pod, c) || f.crashing(pod, c, now) {
			f.container = c.Name
			return true
		}
	}
	return false
}

// waiting reads the reason for which a container does not start.
func (f *finding) waiting(pod *corev1.Pod, c container) bool {
	w := c.State.Waiting
	if w == nil {
		return false
	}
	describe := fmt.Sprintf("kubectl describe pod %s -n %s", pod.Name, pod.Namespace)
	switch w.Reason {
	case errImagePull, imagePullBackOff, "RegistryUnavailable", "ImageInspectError", "SignatureValidationFailed":
		// The kubelet pulls only so many images in a second, and does it a moment later.
		f.code, f.fatal = CodeImagePullFailed, !strings.Contains(w.Message, pullLimit)
		f.message = fmt.Sprintf("%s cannot pull its image %s", c.title(), c.image)
		if words := f.pullWords(w.Message); words != "" {
			f.message += ": " + words
		}
		f.hint = "is the name of the image right, and may the node pull it (imagePullSecrets)? " + describe
	case "ErrImageNeverPull":
		f.code, f.fatal = CodeImagePullFailed, true
		f.message = fmt.Sprintf("%s may not pull its image %s, and the node does not have it", c.title(), c.image)
		f.hint = "imagePullPolicy is Never: change it, or bring the image to the node"
	case "InvalidImageName":
		f.code, f.fatal = CodeInvalidImageName, true
		f.message = fmt.Sprintf("%s has no valid image name: %q", c.title(), c.image)
		f.hint = "mend the image in the pod template"
	case "CreateContainerConfigError":
		f.code, f.fatal = CodeConfigError, true
		f.message = fmt.Sprintf("%s cannot be configured: %s", c.title(), w.Message)
		f.hint = fmt.Sprintf("create what is missing, or mend the pod template; kubectl get secrets,configmaps -n %s", pod.Namespace)
	case "CreateContainerError", "RunContainerError", "PreCreateHookError", "PreStartHookError", "PostStartHookError":
		f.code, f.fatal = CodeStartFailed, true
		f.message = fmt.Sprintf("%s cannot be started: %s", c.title(), cmp.Or(w.Message, w.Reason))
		f.hint = describe
	default:
		return false
	}
	return true
}

// pullWords is what the registry or the runtime said. While the kubelet backs
// off, older ones say it in an event alone.
func (f *finding) pullWords(message string) string {
	if rest, backOff := strings.CutPrefix(message, "Back-off pulling image "); backOff {
		_, message, _ = strings.Cut(rest, `": `)
	}
	for _, e := range slices.Backward(f.events) {
		if _, words, found := strings.Cut(e.Message, `": `); message == "" && found && e.Reason == eventFailed && strings.HasPrefix(e.Message, "Failed to pull image ") {
			message = words
		}
	}
	message = strings.TrimPrefix(message, errImagePull+": ")
	if rest, found := strings.CutPrefix(message, "rpc error: code = "); found {
		_, message, _ = strings.Cut(rest, " desc = ")
	}
	return message
}

// crashing says that a container ends again and again: it waits to be started
// again, has just ended, or has not run for long since it last did.
func (f *finding) crashing(pod *corev1.Pod, c container, now time.Time) bool {
	backingOff := c.State.Waiting != nil && c.State.Waiting.Reason == crashLoopBackOff
	last := c.State.Terminated
	if last == nil {
		last = c.LastTerminationState.Terminated
	}
	switch {
	case backingOff:
	case last == nil, c.init && !c.sidecar && last.ExitCode == 0:
		return false
	case last.Reason == endUnseen || last.Reason == endUnknown:
		return false // its node was started again, and took it along
	case c.State.Running != nil && (c.RestartCount == 0 || c.recovered(last, now)):
		return false
	}
	f.code, f.fatal = CodeCrashLoop, backingOff || c.RestartCount >= 2
	if last != nil && last.Reason == startError {
		// It never ran, and says why as it did when it was first to be started.
		f.code = CodeStartFailed
		f.message = fmt.Sprintf("%s cannot be started: %s", c.title(), cmp.Or(last.Message, last.Reason))
		f.hint = fmt.Sprintf("kubectl describe pod %s -n %s", pod.Name, pod.Namespace)
		return true
	}
	f.hint = fmt.Sprintf("kubectl logs %s -n %s -c %s --previous", pod.Name, pod.Namespace, c.Name)
	if c.RestartCount == 0 {
		f.hint = strings.TrimSuffix(f.hint, " --previous")
	}
	f.message = fmt.Sprintf("%s crashes: %s", c.title(), restarts(c.RestartCount))
	if last == nil {
		return true
	}
	f.message += fmt.Sprintf(", last exit code %d", last.ExitCode)
	switch word := last.Reason; {
	case word == oomKilled:
		f.code = CodeOutOfMemory
		f.message = fmt.Sprintf("%s runs out of memory: %s, last exit code %d (%s)", c.title(), restarts(c.RestartCount), last.ExitCode, word)
		f.hint = "raise its memory limit in the pod template, or let it use less"
	case word != "" && word != "Error":
		f.message += fmt.Sprintf(" (%s)", word)
	}
	if last.Message != "" {
		f.message += ": " + last.Message
	}
	return true
}

// recovered reports whether a container that runs again has left behind what ended
// its last run. One that is ready is believed to have when it has run for twice as
// long as that, if it ended more than once, and otherwise soon.
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

// crashedLately says of a pod that is ready that one of its containers has just
// been started again.
func (f *finding) crashedLately(pod *corev1.Pod, now time.Time) bool {
	for _, c := range containersOf(pod) {
		if c.State.Running != nil && f.crashing(pod, c, now) {
			f.container = c.Name
			return true
		}
	}
	return false
}

// about reports whether an event of a pod may be about a container.
func about(e corev1.Event, c container) bool {
	of := e.InvolvedObject.FieldPath
	return of == "" || strings.Contains(of, "{"+c.Name+"}")
}

// probeKills reports whether an event says that a container is ended because of a
// probe.
func probeKills(e corev1.Event) bool {
	return e.Reason == EventKilling && strings.Contains(e.Message, " probe, ")
}

// probeWords is what the kubelet says of a probe: "failed liveness probe".
func probeWords(message string) string {
	_, words, found := strings.Cut(message, " failed ")
	if !found {
		return message
	}
	probe, _, _ := strings.Cut(words, ",")
	return "it failed its " + probe
}

// stopping says of a pod that is ready that the kubelet is ending one of its
// containers because of a probe, which takes as long as its grace period.
func (f *finding) stopping(pod *corev1.Pod) bool {
	for _, c := range containersOf(pod) {
		if c.State.Running == nil {
			continue
		}
		for _, e := range slices.Backward(f.events) {
			if !probeKills(e) || !about(e, c) || !lastSeen(e).After(c.State.Running.StartedAt.Time) {
				continue
			}
			f.code, f.container, f.since = CodeProbeFailed, c.Name, lastSeen(e)
			f.message = fmt.Sprintf("%s is being stopped to be started again: %s", c.title(), probeWords(e.Message))
			f.hint = fmt.Sprintf("kubectl logs %s -n %s -c %s", pod.Name, pod.Namespace, c.Name)
			return true
		}
	}
	return false
}

func restarts(n int32) string {
	switch n {
	case 0:
		return "no restart yet"
	case 1:
		return "1 restart"
	}
	return fmt.Sprintf("%d restarts", n)
}

// unmounted reads from the events why the containers are not started: a volume
// or the sandbox is missing.
func (f *finding) unmounted(pod *corev1.Pod) bool {
	for _, c := range containersOf(pod) {
		if c.State.Running != nil || c.State.Terminated != nil {
			return false
		}
	}
	for _, e := range slices.Backward(f.events) {
		switch e.Reason {
		case "FailedMount", "FailedAttachVolume", "FailedMapVolume":
			f.code, f.message = CodeVolumeNotMounted, "a volume cannot be mounted: "+e.Message
		case eventSandbox, "NetworkNotReady":
			f.code, f.message = CodeSandboxFailed, "its sandbox cannot be made: "+e.Message
		default:
			continue
		}
		// What happened once may be a start: the kubelet tries again.
		f.fatal = times(e) > 1
		f.hint = fmt.Sprintf("kubectl describe pod %s -n %s", pod.Name, pod.Namespace)
		return true
	}
	return false
}

// unhealthy reads from the events that a probe of a running container fails.
func (f *finding) unhealthy(pod *corev1.Pod) bool {
	for _, c := range containersOf(pod) {
		if c.State.Running == nil || c.Ready {
			continue
		}
		for _, e := range slices.Backward(f.events) {
			if e.Reason != eventUnhealthy || lastSeen(e).Before(c.State.Running.StartedAt.Time) || !about(e, c) {
				continue
			}
			f.code, f.container = CodeProbeFailed, c.Name
			f.message = fmt.Sprintf("%s is not ready: %s", c.title(), e.Message)
			f.hint = fmt.Sprintf("kubectl logs %s -n %s -c %s", pod.Name, pod.Namespace, c.Name)
			return true
		}
	}
	return false
}

// incomplete says how far a pod has come that is on its way.
func (f *finding) incomplete(pod *corev1.Pod) bool {
	var ready, all int
	var not []string
	running := false
	done := 0
	for _, c := range containersOf(pod) {
		switch {
		case c.init && !c.sidecar && c.State.Terminated != nil:
			done++
		case c.init && !c.sidecar && c.State.Running != nil:
			f.code, f.container = CodeInitNotDone, c.Name
			f.message = fmt.Sprintf("%s is at work, %d of %d done", c.title(), done, initCount(pod))
			f.hint = fmt.Sprintf("kubectl logs %s -n %s -c %s", pod.Name, pod.Namespace, c.Name)
			return true
		case c.init && !c.sidecar:
		default:
			all++
			running = running || c.State.Running != nil
			if c.Ready {
				ready++
			} else {
				not = append(not, c.Name)
			}
		}
	}
	if ready == all {
		return f.gated(pod)
	}
	if !running {
		return false // it is being started
	}
	f.code, f.container = CodeContainersNotReady, not[0]
	if f.message = fmt.Sprintf("%d of %d containers are ready, not %s", ready, all, strings.Join(not, ", ")); all == 1 {
		f.message = "container " + not[0] + " is not ready"
	}
	f.hint = fmt.Sprintf("kubectl logs %s -n %s -c %s", pod.Name, pod.Namespace, not[0])
	return true
}

func initCount(pod *corev1.Pod) int {
	n := 0
	for i := range pod.Spec.InitContainers {
		if !sidecar(&pod.Spec.InitContainers[i]) {
			n++
		}
	}
	return n
}

// gated says which readiness gate of a pod is not open.
func (f *finding) gated(pod *corev1.Pod) bool {
	for _, gate := range pod.Spec.ReadinessGates {
		open := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue
		})
		if !open {
			f.code, f.message = CodeReadinessGate, fmt.Sprintf("its readiness gate %s is not open", gate.ConditionType)
			return true
		}
	}
	return false
}
