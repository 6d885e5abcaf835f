// Package problem explains why pods are not ready and why an object has no pods. It finds problems in a pod, its
// events, and its node, and in the conditions of an object. Each problem has a code, a message, and a hint.
//
// Most rules match reasons and messages of the kubelet and the node controller (k8s.io/kubernetes/pkg/kubelet
// and pkg/util/node). No API guarantees these texts, but the texts have been stable for years.
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

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
)

// EventKilling is the reason of the event for a container that the kubelet stops.
const EventKilling = "Killing"

const (
	// slack is added to the grace period of a pod, because the kubelet and the server need some time.
	slack = 15 * time.Second
	// finalizing is how long a finalizer may be pending before it is considered stuck.
	finalizing = time.Minute
)

// Context contains the data that the rules read in addition to the pod.
type Context struct {
	Now      time.Time
	Nodes    map[string]*corev1.Node // the nodes of the pods by name; nil if a node no longer exists
	Events   map[types.UID][]Event   // the events of the pods by UID, the latest last
	Logs     commandline.Command     // shows the logs of all pods of the object
	Commands commandline.Context     // formats commands for hints
}

// OfPod returns the problem of a pod, or false if there is none. ended describes how a finished pod ended.
func OfPod(pod *corev1.Pod, ended string, in Context) (Problem, bool) {
	ready, since := Ready(pod)
	if ready || since.IsZero() {
		since = pod.CreationTimestamp.Time
	}
	f := finding{in: in}
	f.Pods, f.Since, f.Events = []string{pod.Name}, metav1.NewTime(since), in.Events[pod.UID]
	var found bool
	switch {
	case pod.DeletionTimestamp != nil:
		found = f.terminating(pod)
	case Finished(pod):
		f.Code, f.Message = CodePodEnded, "ended: "+ended
		found = true
	case ready:
		found = f.badContainer(pod) || f.stopping(pod)
	default:
		found = f.unscheduled(pod) || f.lost(pod) || f.badContainer(pod) || f.unmounted(pod) || f.unhealthy(pod) || f.incomplete(pod)
	}
	return f.Problem, found
}

// Finished reports whether all containers of a pod have terminated and will not restart.
func Finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// Ready reports whether a pod is ready. since is the time of the last change, or zero if it is unknown.
func Ready(pod *corev1.Pod) (ready bool, since time.Time) {
	c := conditionOf(pod, corev1.PodReady)
	return c.Status == corev1.ConditionTrue, c.LastTransitionTime.Time
}

// conditionOf returns the condition of a type, or an empty condition if the pod has none.
func conditionOf(pod *corev1.Pod, conditionType corev1.PodConditionType) corev1.PodCondition {
	for _, c := range pod.Status.Conditions {
		if c.Type == conditionType {
			return c
		}
	}
	return corev1.PodCondition{}
}

// terminating sets the finding if a pod exists some time after its deletion timestamp, the end of its grace period.
func (f *finding) terminating(pod *corev1.Pod) bool {
	f.Since = *pod.DeletionTimestamp
	over := f.in.Now.Sub(f.Since.Time)
	switch {
	case over < slack:
		return false
	case len(pod.Finalizers) > 0:
		f.Held("pods", pod.Namespace, pod.Name, pod.Finalizers, f.in.Now, f.in.Commands)
	default:
		f.Code, f.Fatal = CodeTerminating, true
		f.Message = Joined("still terminating after its grace period", f.in.nodeTrouble(pod))
		gone := commandline.Kubectl("delete", "pod", pod.Name).In(pod.Namespace).With("--force", "--grace-period=0")
		f.Hint = "if its node will not come back: " + f.in.Commands.Line(gone)
	}
	return true
}

// Held sets the problem of an object whose deletion has been blocked by finalizers since p.Since.
func (p *Problem) Held(resource, namespace, name string, finalizers []string, now time.Time, commands commandline.Context) {
	p.Code, p.Fatal = CodeFinalizer, now.Sub(p.Since.Time) > finalizing
	p.Message = "a finalizer is still pending: "
	if len(finalizers) > 1 {
		p.Message = "finalizers are still pending: "
	}
	p.Message += strings.Join(finalizers, ", ")
	remove := commandline.Kubectl("patch", resource, name).In(namespace).With("--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	p.Hint = "its controller must remove it; if that controller no longer exists: " + commands.Line(remove)
}

func (f *finding) describe(pod *corev1.Pod) string {
	return f.in.Commands.Line(commandline.Kubectl("describe", "pod", pod.Name).In(pod.Namespace))
}

func (f *finding) showLogs(flags ...string) string {
	return f.in.Commands.Line(f.in.Logs.With(flags...))
}

// unscheduled sets the finding if a pod has a scheduling gate or fits no node, or if the scheduler failed.
func (f *finding) unscheduled(pod *corev1.Pod) bool {
	c := conditionOf(pod, corev1.PodScheduled)
	if c.Status != corev1.ConditionFalse {
		return false
	}
	f.Since = c.LastTransitionTime
	if c.Reason == corev1.PodReasonSchedulingGated {
		f.Code, f.Message = CodeSchedulingGated, "its scheduling gates have not been removed"
		return true
	}
	if c.Reason == corev1.PodReasonSchedulerError { // the scheduler tries again
		f.Code, f.Message = CodeUnschedulable, "the scheduler failed: "+c.Message
		return true
	}
	f.Code, f.Message = CodeUnschedulable, "no node fits: "+c.Message
	f.Hint = f.in.Commands.Line(commandline.Kubectl("get", "nodes"))
	if strings.Contains(c.Message, "Insufficient ") || strings.Contains(c.Message, "Too many pods") {
		f.Hint += "; free resources, or request less in the pod template"
	}
	f.Fatal = !slices.ContainsFunc(f.Events, func(e Event) bool { return e.Reason == "TriggeredScaleUp" })
	return true
}

// lost sets the finding if the node of a pod is gone or does not respond.
func (f *finding) lost(pod *corev1.Pod) bool {
	why := f.in.nodeTrouble(pod)
	if why == "" {
		return false
	}
	f.Code, f.Message, f.Fatal = CodeNodeLost, why, true
	f.Hint = f.in.Commands.Line(commandline.Kubectl("get", "nodes")) + "; " + f.in.Commands.Line(commandline.Kubectl("describe", "node", pod.Spec.NodeName))
	return true
}

// nodeTrouble describes the problem with the node of a pod, or returns "" if there is none.
func (in Context) nodeTrouble(pod *corev1.Pod) string {
	name := pod.Spec.NodeName
	node, read := in.Nodes[name]
	if read && node == nil {
		return fmt.Sprintf("its node %s no longer exists", name)
	}
	if read {
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
				return fmt.Sprintf("its node %s is not ready: %s", name, cmp.Or(c.Message, c.Reason))
			}
		}
	}
	if pod.Status.Reason == "NodeLost" {
		return cmp.Or(pod.Status.Message, fmt.Sprintf("its node %s does not respond", name))
	}
	return ""
}

// unmounted sets the finding if no container has started, and an event reports a problem with a volume or the sandbox.
func (f *finding) unmounted(pod *corev1.Pod) bool {
	for _, c := range containersOf(pod) {
		if c.State.Running != nil || c.State.Terminated != nil {
			return false
		}
	}
	for _, e := range slices.Backward(f.Events) {
		switch e.Reason {
		case "FailedMount", "FailedAttachVolume", "FailedMapVolume":
			f.Code, f.Message = CodeVolumeNotMounted, "cannot mount a volume: "+e.Message
		case "FailedCreatePodSandBox", "NetworkNotReady":
			f.Code, f.Message = CodeSandboxFailed, "cannot create the pod sandbox: "+e.Message
		case "Pulling", "BackOff":
			return false // the kubelet pulls images after it has created the sandbox and mounted the volumes
		default:
			continue
		}
		// A single failure may be part of a normal start, because the kubelet retries.
		f.Fatal = e.Count > 1
		f.Hint = f.describe(pod)
		return true
	}
	return false
}

// incomplete sets the finding if an init container runs, containers run but not all are ready, or a gate is not met.
func (f *finding) incomplete(pod *corev1.Pod) bool {
	var not []string
	running := false
	all, done := 0, 0
	for _, c := range containersOf(pod) {
		switch {
		case c.init && c.State.Terminated != nil:
			done++
		case c.init && c.State.Running != nil:
			f.Code, f.Container = CodeInitNotDone, c.Name
			inits := len(pod.Spec.InitContainers) - int(Count(pod.Spec.InitContainers, Sidecar))
			f.Message = fmt.Sprintf("%s is running, %d of %d done", c.title(), done, inits)
			f.Hint = f.showLogs("--failing", "-c", c.Name)
			return true
		case c.init:
		default:
			all++
			running = running || c.State.Running != nil
			if !c.Ready {
				not = append(not, c.Name)
			}
		}
	}
	if len(not) == 0 {
		return f.gated(pod)
	}
	if !running {
		return false // the pod is starting
	}
	f.Code, f.Container = CodeContainersNotReady, not[0]
	f.Message = "container " + not[0] + " is not ready"
	if all > 1 {
		f.Message = fmt.Sprintf("%d of %d containers ready, waiting for %s", all-len(not), all, strings.Join(not, ", "))
	}
	f.Hint = f.showLogs("--failing", "-c", not[0])
	return true
}

func (f *finding) gated(pod *corev1.Pod) bool {
	for _, gate := range pod.Spec.ReadinessGates {
		if conditionOf(pod, gate.ConditionType).Status != corev1.ConditionTrue {
			f.Code, f.Message = CodeReadinessGate, fmt.Sprintf("its readiness gate %s is not True", gate.ConditionType)
			return true
		}
	}
	return false
}

// Lasting returns why a pod cannot become ready without intervention, judging by the pod alone, or "" if unknown.
func Lasting(pod *corev1.Pod) (code Code, message string) {
	if ready, _ := Ready(pod); ready || pod.DeletionTimestamp != nil || Finished(pod) {
		return "", ""
	}
	var f finding
	// If Now is the zero time, no container has run long enough after a crash to be considered recovered.
	if found := f.unscheduled(pod) || f.badContainer(pod); !found || !f.Fatal {
		return "", ""
	}
	return f.Code, OneLine(f.Message)
}
