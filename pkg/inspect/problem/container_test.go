package problem

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// The error of the registry is in the status or an event. pullWords removes the prefixes of the kubelet and of gRPC.
func TestPullWords(t *testing.T) {
	t.Parallel()
	const old, backOff = `Failed to pull image "web:v2": `, `Back-off pulling image "web:v2"`
	event := func(reason, message string) Event { return Event{Reason: reason, Message: message} }
	for _, test := range []struct {
		message string
		events  []Event
		want    string
	}{
		{"not found", nil, "not found"},
		{"rpc error: code = NotFound desc = not found", nil, "not found"},
		{backOff + ": ErrImagePull: not found", nil, "not found"},
		{backOff, nil, ""},
		{backOff, []Event{event("Failed", old+"denied"), event("Failed", old+"not found")}, "not found"},
		{backOff, []Event{event("Failed", old+"not found"), event("Failed", `Error: "web": ErrImagePull`), event("BackOff", old+"wait")}, "not found"},
		{"not found", []Event{event("Failed", old+"denied")}, "not found"},
	} {
		f := finding{Problem: Problem{Events: test.events}}
		if got := f.pullWords(test.message); got != test.want {
			t.Errorf("message %q and %d events: pullWords() = %q, want %q", test.message, len(test.events), got, test.want)
		}
	}
}

func TestProbeWords(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"Container a failed liveness probe, will be restarted": "failed its liveness probe",
		"Stopping container a":                                 "Stopping container a",
	} {
		if got := probeWords(message); got != want {
			t.Errorf("probeWords(%q) = %q, want %q", message, got, want)
		}
	}
	if probeKills(Event{Reason: "Killing", Message: "Stopping container a"}) || probeKills(Event{Reason: "Unhealthy", Message: "a probe, b"}) {
		t.Error("probeKills() = true for an event that does not report a kill after a failed probe")
	}
}

func TestSidecar(t *testing.T) {
	t.Parallel()
	for policy, want := range map[corev1.ContainerRestartPolicy]bool{
		corev1.ContainerRestartPolicyAlways: true, corev1.ContainerRestartPolicyOnFailure: false, corev1.ContainerRestartPolicyNever: false,
	} {
		if got := Sidecar(corev1.Container{RestartPolicy: &policy}); got != want {
			t.Errorf("init container with restart policy %s: Sidecar() = %t, want %t", policy, got, want)
		}
	}
}
