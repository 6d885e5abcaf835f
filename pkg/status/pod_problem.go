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
)

// podFinding says what keeps a pod from being ready, as far as the pod, its
// events and its node tell.
func podFinding(pod *corev1.Pod, e Snapshot, events happened) (finding, bool) {
	f := finding{pod: pod.Name, since: notReadySince(pod), events: events[pod.UID], logs: logsOf(e.Object)}
	model := newPod(pod)
	var found bool
	switch {
	case pod.DeletionTimestamp != nil:
		found = f.terminating(pod, e)
	case pod.Status.Phase == corev1.PodFailed, pod.Status.Phase == corev1.PodSucceeded:
		f.code, f.message = CodePodEnded, "ended: "+model.Status
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

// logsOf is the command that shows the logs of all pods of an object.
func logsOf(o Object) string {
	return "kubectl imoocpod logs " + ShortType(o.Type) + "/" + o.Name + inNamespace(o.Namespace)
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
		f.message = "still terminating after its grace period"
		f.hint = fmt.Sprintf("if its node will not come back: kubectl delete pod %s -n %s --force --grace-period=0", pod.Name, pod.Namespace)
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
	f.message = "a finalizer is still pending: "
	if len(finalizers) > 1 {
		f.message = "finalizers are still pending: "
	}
	f.message += strings.Join(finalizers, ", ")
	f.hint = fmt.Sprintf("its controller must remove it; if that controller no longer exists: kubectl patch %s %s%s --type=merge -p '{\"metadata\":{\"finalizers\":null}}'",
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
			f.code, f.message = CodeSchedulingGated, "its scheduling gates have not been removed"
			return true
		}
		f.code, f.message = CodeUnschedulable, "no node fits: "+c.Message
		f.hint = "kubectl get nodes; free resources, or request less in the pod template"
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
		return fmt.Sprintf("its node %s no longer exists", name), true
	}
	if read {
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
				return fmt.Sprintf("its node %s is not ready: %s", name, cmp.Or(c.Message, c.Reason)), true
			}
		}
	}
	if pod.Status.Reason == nodeLost {
		return cmp.Or(pod.Status.Message, fmt.Sprintf("its node %s does not respond", name)), true
	}
	return "", false
}

type container struct {
	corev1.ContainerStatus
	// image is as the template has it, which may not be what a status says.
	image         string
	init, sidecar bool
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
			f.code, f.message = CodeVolumeNotMounted, "cannot mount a volume: "+e.Message
		case eventSandbox, "NetworkNotReady":
			f.code, f.message = CodeSandboxFailed, "cannot create the pod sandbox: "+e.Message
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
			f.message = fmt.Sprintf("%s is running, %d of %d done", c.title(), done, initCount(pod))
			f.hint = f.logs + " --failing -c " + c.Name
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
	if f.message = fmt.Sprintf("%d of %d containers ready, waiting for %s", ready, all, strings.Join(not, ", ")); all == 1 {
		f.message = "container " + not[0] + " is not ready"
	}
	f.hint = f.logs + " --failing -c " + not[0]
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
			f.code, f.message = CodeReadinessGate, fmt.Sprintf("its readiness gate %s is not True", gate.ConditionType)
			return true
		}
	}
	return false
}

// PodFailure says why a pod will not become ready without help, as far as the pod
// itself tells; code "" means that it may.
func PodFailure(pod *corev1.Pod) (code Code, message string) {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded || newPod(pod).Ready {
		return "", ""
	}
	var f finding
	// A container that runs after crashes may crash again: no time is long enough.
	if found := f.unscheduled(pod) || f.badContainer(pod, time.Time{}); !found || !f.fatal {
		return "", ""
	}
	return f.code, oneLine(f.message)
}
