package problem

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// probeKills reports whether an event means that a container is stopped because of a failed probe.
func probeKills(e Event) bool {
	return e.Reason == EventKilling && strings.Contains(e.Message, " probe, ")
}

// eventOf returns the first running container with a matching event, and the last such event. An event without a field
// may refer to any container.
func (f *finding) eventOf(pod *corev1.Pod, matches func(container, Event) bool) (container, Event, bool) {
	for _, c := range containersOf(pod) {
		for _, e := range slices.Backward(f.Events) {
			if c.State.Running != nil && matches(c, e) && (e.Field == "" || strings.Contains(e.Field, "{"+c.Name+"}")) {
				return c, e, true
			}
		}
	}
	return container{}, Event{}, false
}

// probeWords shortens a kubelet message to a phrase such as "failed its liveness probe".
func probeWords(message string) string {
	_, words, found := strings.Cut(message, " failed ")
	if !found {
		return message
	}
	probe, _, _ := strings.Cut(words, ",")
	return "failed its " + probe
}

// stopping sets the finding if the kubelet is stopping a container of a ready pod because a probe failed. The container
// can keep running for the whole grace period.
func (f *finding) stopping(pod *corev1.Pod) bool {
	c, e, found := f.eventOf(pod, func(c container, e Event) bool {
		return probeKills(e) && e.Last.After(c.State.Running.StartedAt.Time)
	})
	if found {
		f.Code, f.Container, f.Since = CodeProbeFailed, c.Name, e.Last
		f.Message = fmt.Sprintf("%s is being restarted: %s", c.title(), probeWords(e.Message))
		f.Hint = f.showLogs("-c", c.Name)
	}
	return found
}

// unhealthy sets the finding if events report that a probe of a running, unready container fails.
func (f *finding) unhealthy(pod *corev1.Pod) bool {
	c, e, found := f.eventOf(pod, func(c container, e Event) bool {
		return !c.Ready && e.Reason == "Unhealthy" && !e.Last.Time.Before(c.State.Running.StartedAt.Time)
	})
	if found {
		f.Code, f.Container = CodeProbeFailed, c.Name
		f.Message = fmt.Sprintf("%s is not ready: %s", c.title(), e.Message)
		f.Hint = f.showLogs("--failing", "-c", c.Name)
	}
	return found
}
