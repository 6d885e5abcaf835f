package play

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

const (
	// node is the name of the node that runs all pods.
	node = "node-1"
	// podStarts is the time until a pod is ready, and podEnds is the time until a deleted pod is
	// gone. podStarts is not exactly a second, because "wait" prints its first line after a second.
	// Otherwise, it would be random whether this line shows the pod as ready.
	podStarts = time.Second + 5*time.Millisecond
	podEnds   = 500 * time.Millisecond
)

// Kubelet creates a node, and simulates its kubelet and the scheduler. The base name of an image determines how its pod
// behaves: "never" does not become ready, "crash" crash-loops, "pull" cannot be pulled, and "slow" becomes ready after
// the duration in its tag, such as example.com/slow:30s. All other pods are ready after about a second.
func Kubelet(s *apiserver.Server) {
	s.CreateYAML("{apiVersion: v1, kind: Node, metadata: {name: " + node + "}}")
	s.OnWrite(func(c apiserver.Change) {
		pod := c.After
		if c.Resource.Resource != "pods" || pod == nil {
			return
		}
		_, begun := pod.Object["status"]
		switch {
		case pod.GetDeletionTimestamp() != nil && (c.Before == nil || c.Before.GetDeletionTimestamp() == nil || kept(c.Before)):
			stop(s, pod)
		case pod.GetDeletionTimestamp() == nil && c.Before == nil && !begun:
			start(s, pod)
		}
	})
}

// Values for SetFate that are not images.
const (
	// Stuck prevents the removal of deleted pods.
	Stuck = "stuck"
	// Away stops the simulated controllers, except for the kubelet.
	Away = "away"
)

// FateAnnotation is the annotation that SetFate sets on the node. On a single pod, a test can set it to Stuck.
const FateAnnotation = "example.com/fate"

// SetFate makes all pods that start later behave as if they also had a container with this image,
// such as "never:1". Stuck and Away are allowed, too.
func SetFate(s *apiserver.Server, image string) {
	s.As("kubelet").Update("nodes", "", node, func(obj *unstructured.Unstructured) {
		obj.SetAnnotations(map[string]string{FateAnnotation: image})
	})
}

func fate(s *apiserver.Server) string {
	if obj := s.Get("nodes", "", node); obj != nil {
		return obj.GetAnnotations()[FateAnnotation]
	}
	return ""
}

// kept reports whether a pod stays after its deletion, because of its finalizers or its fate.
func kept(pod *unstructured.Unstructured) bool {
	return len(pod.GetFinalizers()) > 0 || pod.GetAnnotations()[FateAnnotation] == Stuck
}

// stop removes a deleted pod after podEnds, unless kept returns true or the fate of the node is Stuck.
func stop(s *apiserver.Server, pod *unstructured.Unstructured) {
	if fate(s) == Stuck {
		return
	}
	s.After(podEnds, func() {
		now := s.Get("pods", pod.GetNamespace(), pod.GetName())
		if now != nil && now.GetUID() == pod.GetUID() && !kept(now) {
			s.As("kubelet").Remove("pods", pod.GetNamespace(), pod.GetName())
		}
	})
}

// start binds a pod to the node, and sets its final status after a delay.
func start(s *apiserver.Server, pod *unstructured.Unstructured) {
	update := func(manager string, change func(*unstructured.Unstructured)) {
		s.As(manager).Update("pods", pod.GetNamespace(), pod.GetName(), func(now *unstructured.Unstructured) {
			if now.GetUID() == pod.GetUID() && now.GetDeletionTimestamp() == nil {
				change(now)
			}
		})
	}
	s.After(reaction, func() {
		update("kube-scheduler", func(pod *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(pod.Object, node, "spec", "nodeName")
		})
		update("kubelet", func(pod *unstructured.Unstructured) { setPodStatus(pod, corev1.PodPending, false, "ContainerCreating") })
	})
	reason, takes := fateOf(s, pod)
	s.After(takes, func() {
		phase := corev1.PodRunning
		if reason == "ImagePullBackOff" {
			phase = corev1.PodPending
		}
		update("kubelet", func(pod *unstructured.Unstructured) {
			setPodStatus(pod, phase, reason == "", strings.TrimPrefix(reason, unready))
		})
	})
}

// unready is the reason that fateOf returns for a pod that runs but does not become ready.
const unready = "-"

// fateOf returns the reason why a pod will not become ready, or "", and the time until its status is final.
func fateOf(s *apiserver.Server, pod *unstructured.Unstructured) (reason string, takes time.Duration) {
	takes = podStarts
	images := []string{fate(s)}
	for _, c := range objectsAt(pod, "spec", "containers") {
		image, _ := c["image"].(string)
		images = append(images, image)
	}
	for _, image := range images {
		name, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
		switch name {
		case "never":
			reason = unready
		case "crash":
			reason = "CrashLoopBackOff"
		case "pull":
			reason = "ImagePullBackOff"
		case "slow":
			if d, err := time.ParseDuration(tag); err == nil {
				takes = max(takes, d)
			}
		}
	}
	return reason, takes
}

// setPodStatus sets the status of a pod. waiting is the reason why its containers are waiting, or
// "" if they are running.
func setPodStatus(pod *unstructured.Unstructured, phase corev1.PodPhase, ready bool, waiting string) {
	now := time.Now().UTC().Format(time.RFC3339)
	var statuses []any
	for _, c := range objectsAt(pod, "spec", "containers") {
		status := map[string]any{"name": c["name"], "image": c["image"], "imageID": "", "ready": ready, "started": ready, "restartCount": int64(0), "state": map[string]any{"running": map[string]any{"startedAt": now}}}
		if waiting != "" {
			status["state"] = map[string]any{"waiting": map[string]any{"reason": waiting}}
		}
		if waiting == "CrashLoopBackOff" {
			status["restartCount"] = int64(3)
			status["lastState"] = map[string]any{"terminated": map[string]any{"exitCode": int64(1), "reason": "Error", "startedAt": now, "finishedAt": now}}
		}
		statuses = append(statuses, status)
	}
	reason, message := "", ""
	if !ready {
		reason, message = "ContainersNotReady", "containers with unready status"
	}
	status := map[string]any{"phase": string(phase), "startTime": now, "containerStatuses": statuses, "conditions": []any{
		condition(pod, "PodScheduled", true, "", ""), condition(pod, "Initialized", true, "", ""),
		condition(pod, "ContainersReady", ready, reason, message), condition(pod, "Ready", ready, reason, message),
	}}
	pod.Object["status"] = status
}

func ready(pod *unstructured.Unstructured) bool {
	for _, c := range objectsAt(pod, "status", "conditions") {
		if c["type"] == "Ready" {
			return c["status"] == "True"
		}
	}
	return false
}

func countReady(pods []*unstructured.Unstructured) int {
	n := 0
	for _, pod := range pods {
		if ready(pod) {
			n++
		}
	}
	return n
}
