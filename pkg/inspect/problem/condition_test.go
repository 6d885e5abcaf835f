package problem

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A refusal contains the server's reason and a hint.
func TestRefusal(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, message string
		code            Code
		want, hint      string
	}{
		{"FailedCreate", `Error creating: pods "a" is forbidden: exceeded quota: few`, CodeQuotaExceeded, "cannot create more pods: exceeded quota: few", "kubectl describe quota -n ns"},
		{"QuotaExceeded", `pods "a" is forbidden: failed quota: few: must specify cpu`, CodeQuotaExceeded, "cannot create more pods: failed quota: few: must specify cpu", "kubectl describe quota -n ns"},
		{"NameTaken", "pod a already exists", CodeNameTaken, "pod a already exists", "delete or rename the object that has this name"},
		{"R", `admission webhook "w" said no`, CodeAdmissionRefused, `pods are rejected: admission webhook "w" said no`, "fix the pod template, or ask the owner of the policy"},
		{"R", `pods "a" is forbidden: no`, CodeAdmissionRefused, "pods are rejected: no", "fix the pod template, or ask the owner of the policy"},
		{"R", "request denied", CodeAdmissionRefused, "pods are rejected: request denied", "fix the pod template, or ask the owner of the policy"},
		{"R", "the server fails", CodeCreateFailed, "cannot create pods: the server fails", ""},
	} {
		var f Finding
		if f.refusal(test.reason, test.message, "ns"); f.Code != test.code || f.Message != test.want || f.Hint != test.hint {
			t.Errorf("%s is %s: %q (%q), want %s: %q (%q)", test.message, f.Code, f.Message, f.Hint, test.code, test.want, test.hint)
		}
	}
}

// A degraded object is reported, but has not failed, because it may recover by itself.
func TestDegradedIsNoFailure(t *testing.T) {
	t.Parallel()
	found := Reported([]metav1.Condition{{Type: "Degraded", Status: metav1.ConditionTrue, Reason: "R", Message: "m"}}, "", "ns", nil, nil)
	if len(found) != 1 || found[0].Fatal || found[0].Code != CodeReportedFailure || found[0].Message != "its condition Degraded is True: R: m" {
		t.Errorf("found %+v", found)
	}
}

// An object between the target and its pods is named if it reports a failure, but not if
// the server rejects the pods.
func TestReportedByAChild(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ kind, message, want string }{
		{"ReplicaFailure", "request denied", "pods are rejected: request denied"},
		{"ReplicaFailure", "exceeded quota: few", "cannot create more pods: exceeded quota: few"},
		{"ReplicaFailure", "the server fails", "ReplicaSet/web: cannot create pods: the server fails"},
		{"Stalled", "no disk", "ReplicaSet/web: no disk"},
		{"Failed", "a Job of it", ""},
		{"Degraded", "less than before", ""},
	} {
		found := Reported([]metav1.Condition{{Type: "Other", Status: metav1.ConditionTrue}, {Type: test.kind, Status: metav1.ConditionTrue, Message: test.message}}, "ReplicaSet/web", "ns", nil, nil)
		if (len(found) == 1) != (test.want != "") || len(found) == 1 && found[0].Message != test.want {
			t.Errorf("%s: found %+v, want %q", test.message, found, test.want)
		}
	}
}

// A failure is found in the condition types of various operators, with or without a reason.
func TestReportedFailures(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		condition metav1.Condition
		want      string
	}{
		{metav1.Condition{Type: "HasErrors", Status: metav1.ConditionTrue, Message: "no such secret"}, "no such secret"},
		{metav1.Condition{Type: "ReleaseFailed", Status: metav1.ConditionTrue, Reason: "InstallError", Message: "no chart"}, "InstallError: no chart"},
		{metav1.Condition{Type: "Failure", Status: metav1.ConditionTrue}, "its condition Failure is True"},
		{metav1.Condition{Type: "HasErrors", Status: metav1.ConditionFalse, Message: "none"}, ""},
	} {
		found := Reported([]metav1.Condition{test.condition}, "", "ns", nil, nil)
		if (len(found) == 1) != (test.want != "") || len(found) == 1 && (found[0].Message != test.want || !found[0].Fatal) {
			t.Errorf("%s: found %+v, want %q", test.condition.Type, found, test.want)
		}
	}
}
