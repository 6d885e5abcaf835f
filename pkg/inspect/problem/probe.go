package problem

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// about reports whether an event of a pod may refer to a container.
func about(e Event, c container) bool {
	return e.Field == "" || strings.Contains(e.Field, "{"+c.Name+"}")
}

// probeKills reports whether an event means that a container is stopped because of a failed probe.
func probeKills(e Event) bool {
	return e.Reason == EventKilling && strings.Contains(e.Message, " probe, ")
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
	for _, c := range containersOf(pod) {
		if c.State.Running == nil {
			continue
		}
		for _, e := range slices.Backward(f.Events) {
			if !probeKills(e) || !about(e, c) || !e.Last.After(c.State.Running.StartedAt.Time) {
				continue
			}
			f.Code, f.Container, f.Since = CodeProbeFailed, c.Name, e.Last
			f.Message = fmt.Sprintf("%s is being restarted: %s", c.title(), probeWords(e.Message))
			f.Hint = f.showLogs("-c", c.Name)
			return true
		}
	}
	return false
}

// unhealthy sets the finding if events report that a probe of a running, unready container fails.
func (f *finding) unhealthy(pod *corev1.Pod) bool {
	for _, c := range containersOf(pod) {
		if c.State.Running == nil || c.Ready {
			continue
		}
		for _, e := range slices.Backward(f.Events) {
			if e.Reason != "Unhealthy" || e.Last.Time.Before(c.State.Running.StartedAt.Time) || !about(e, c) {
				continue
			}
			f.Code, f.Container = CodeProbeFailed, c.Name
			f.Message = fmt.Sprintf("%s is not ready: %s", c.title(), e.Message)
			f.Hint = f.showLogs("--failing", "-c", c.Name)
			return true
		}
	}
	return false
}
